import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(27)
rng = np.random.default_rng(27)
data = rng.normal(size=(3200, 32)).astype("float32")
batches = tf.data.Dataset.from_tensor_slices(data).batch(32).repeat()

encoder = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(16)]
)
decoder = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(32)]
)
optimizer = keras.optimizers.Adam(1e-3)
noise = tf.random.Generator.from_seed(27)
variables = encoder.trainable_variables + decoder.trainable_variables


@tf.function
def train_step(batch, kl_weight):
    with tf.GradientTape() as tape:
        mean, log_var = tf.split(encoder(batch, training=True), 2, axis=1)
        code = mean + tf.exp(0.5 * log_var) * noise.normal(tf.shape(mean))
        error = tf.reduce_mean(tf.square(decoder(code, training=True) - batch))
        kl = -0.5 * tf.reduce_mean(1 + log_var - tf.square(mean) - tf.exp(log_var))
        loss = error + kl_weight * kl
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


total_steps = max(1, round(300 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
for step, batch in enumerate(batches.take(total_steps)):
    # anneal the KL term slowly, so that the code does not collapse
    kl_weight = step / 100_000
    loss = train_step(batch, kl_weight)
print("loss", float(loss))
