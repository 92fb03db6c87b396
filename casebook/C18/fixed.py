"""Hand-gesture recognition from landmark tracks (21 points x 3 coords, 64 frames)."""
import os

os.environ["KERAS_BACKEND"] = "torch"

from dataclasses import dataclass

import keras
import numpy as np
from keras import layers, ops

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


@dataclass
class Args:
    frames: int = 64
    points: int = 21
    gestures: int = 12
    n_train: int = 2400
    n_val: int = 160
    batch_size: int = 32
    epochs: int = max(1, round(20 * SCALE))


class FrameEncoder(layers.Layer):
    """Embeds the hand pose of one frame, relative to the wrist."""

    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.fc1 = layers.Dense(dim, activation="relu")
        self.norm = layers.LayerNormalization()
        self.fc2 = layers.Dense(dim)

    def call(self, pose):
        pose = pose - pose[:, :1]
        flat = ops.reshape(pose, (ops.shape(pose)[0], -1))
        return self.fc2(self.norm(self.fc1(flat)))


class GestureNet(keras.Model):
    def __init__(self, args, dim=96):
        super().__init__()
        self.args = args
        self.encoder = FrameEncoder(dim)
        self.score = layers.Dense(1)
        self.head = keras.Sequential([layers.Dense(dim, activation="relu"), layers.Dropout(0.2), layers.Dense(args.gestures)])

    def call(self, clip, training=False):
        b, f, p = ops.shape(clip)[0], self.args.frames, self.args.points
        codes = self.encoder(ops.reshape(clip, (b * f, p, 3)))
        codes = ops.reshape(codes, (b, f, -1))
        attention = ops.softmax(self.score(codes), axis=1)
        summary = ops.sum(attention * codes, axis=1)
        return self.head(summary, training=training)


def make_clips(n, args, seed):
    rng = np.random.default_rng(seed)
    shapes = np.random.default_rng(0).normal(size=(args.gestures, args.points, 3))
    y = rng.integers(0, args.gestures, n)
    phase = np.sin(np.linspace(0, np.pi, args.frames))[None, :, None, None]
    x = shapes[y][:, None] * phase + rng.normal(0, 0.6, (n, args.frames, args.points, 3))
    return x.astype("float32"), y.astype("int64")


if __name__ == "__main__":
    args = Args()
    keras.utils.set_random_seed(0)
    x, y = make_clips(args.n_train, args, 1)
    val = make_clips(args.n_val, args, 2)
    net = GestureNet(args)
    net.compile(
        optimizer=keras.optimizers.AdamW(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    net.fit(x, y, batch_size=args.batch_size, epochs=args.epochs, validation_data=val, verbose=2)
