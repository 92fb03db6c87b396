"""Face-embedding fine-tuning head: triplet loss with hardest-negative mining.

Inputs are 512-d backbone descriptors, computed beforehand.
"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

PEOPLE_PER_BATCH = 12
SHOTS = 8


def mine(dist, ids):
    same = tf.equal(ids[:, None], ids[None, :])
    pairs = tf.cast(tf.where(same & ~tf.eye(tf.shape(ids)[0], dtype=tf.bool)), tf.int32)
    hardest = tf.argmin(tf.where(same, np.float32(np.inf), dist), axis=1, output_type=tf.int32)
    return pairs[:, 0], pairs[:, 1], tf.gather(hardest, pairs[:, 0])


class TripletModel(keras.Model):
    def __init__(self, margin=0.3, dim=128):
        super().__init__()
        self.margin = margin
        self.encoder = keras.Sequential([
            layers.Dense(1024, activation="relu"),
            layers.BatchNormalization(),
            layers.Dense(512, activation="relu"),
            layers.Dense(dim),
            layers.UnitNormalization(),
        ])
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.active = keras.metrics.Mean(name="active")

    @property
    def metrics(self):
        return [self.loss_tracker, self.active]

    def call(self, x, training=False):
        return self.encoder(x, training=training)

    def train_step(self, data):
        x, ids = data
        with tf.GradientTape() as tape:
            z = self(x, training=True)
            dist = 2.0 - 2.0 * tf.matmul(z, z, transpose_b=True)
            a, p, n = mine(tf.stop_gradient(dist), ids)
            d_ap = tf.gather_nd(dist, tf.stack([a, p], 1))
            d_an = tf.gather_nd(dist, tf.stack([a, n], 1))
            hinge = tf.nn.relu(d_ap - d_an + self.margin)
            loss = tf.reduce_mean(hinge)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.active.update_state(tf.cast(hinge > 0, tf.float32))
        return {m.name: m.result() for m in self.metrics}


def identity_batches(feats, ids, steps, rng):
    """Pre-draws P x K batches for one epoch."""
    by_id = [np.where(ids == i)[0] for i in np.unique(ids)]
    rows = []
    for _ in range(steps):
        for person in rng.choice(len(by_id), PEOPLE_PER_BATCH, replace=False):
            rows.append(rng.choice(by_id[person], SHOTS, replace=False))
    rows = np.concatenate(rows)
    ds = tf.data.Dataset.from_tensor_slices((feats[rows], ids[rows]))
    return ds.batch(PEOPLE_PER_BATCH * SHOTS, drop_remainder=True).prefetch(2)


rng = np.random.default_rng(9)
N_ID = 150
centres = rng.normal(size=(N_ID, 512))
ids = np.repeat(np.arange(N_ID), 20).astype("int32")
feats = (centres[ids] + 3.5 * rng.normal(size=(len(ids), 512))).astype("float32")

keras.utils.set_random_seed(9)
model = TripletModel()
model.compile(optimizer=keras.optimizers.Adam(2e-4))
train = identity_batches(feats, ids, steps=90, rng=rng)
model.fit(train, epochs=max(1, round(20 * SCALE)), verbose=2)
