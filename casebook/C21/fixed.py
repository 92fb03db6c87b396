"""Leaf area from greenhouse camera frames, walk-forward.

The frames are in time order. For a given origin the model is trained on the
window that starts there and tested on the frames right after the window.
"""
import argparse
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAME = 256
CROP = 224
NET = 96


def record_season(n, seed=0):
    """JPEG bytes of n frames with a green disc that grows, and its area."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:FRAME, 0:FRAME].astype("float32") - FRAME / 2
    r2 = xx * xx + yy * yy
    frames, area = [], np.empty(n, "float32")
    for i in range(n):
        radius = 20 + 80 * i / n + rng.normal(0, 6)
        leaf = r2 < radius * radius
        img = rng.integers(60, 110, (FRAME, FRAME, 3), dtype=np.uint8)
        img[leaf, 1] += 90
        frames.append(tf.io.encode_jpeg(img, quality=92).numpy())
        area[i] = leaf.mean()
    return frames, area


def load_frame(jpeg, area):
    img = tf.io.decode_jpeg(jpeg, channels=3)
    img = tf.image.random_crop(img, (CROP, CROP, 3))
    img = tf.image.random_flip_left_right(img)
    img = tf.image.resize(img, (NET, NET), antialias=True) / 255.0
    img = tf.image.random_brightness(img, 0.1)
    return tf.ensure_shape(img, (NET, NET, 3)), area


def walk_forward(frames, area, origin, window, horizon, batch_size):
    season = tf.data.Dataset.from_tensor_slices((frames, area))
    train = season.skip(origin).take(window)
    test = season.skip(origin + window).take(horizon)
    train = train.map(load_frame, num_parallel_calls=tf.data.AUTOTUNE)
    test = test.map(load_frame, num_parallel_calls=tf.data.AUTOTUNE)
    train = train.batch(batch_size).prefetch(tf.data.AUTOTUNE)
    test = test.batch(batch_size)
    return train, test


def build_model():
    model = keras.Sequential([keras.Input((NET, NET, 3))])
    for filters in (16, 32, 64):
        model.add(layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu"))
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(32, activation="relu"))
    model.add(layers.Dense(1))
    return model


def main(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--frames", type=int, default=880)
    ap.add_argument("--origin", type=int, default=720)
    ap.add_argument("--window", type=int, default=112)
    ap.add_argument("--horizon", type=int, default=48)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=max(1, round(80 * float(os.environ.get("CASEBOOK_SCALE", "1")))))
    args = ap.parse_args(argv)

    keras.utils.set_random_seed(4)
    frames, area = record_season(args.frames)
    train, test = walk_forward(
        frames, area, args.origin, args.window, args.horizon, args.batch_size
    )
    model = build_model()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
    model.fit(train, epochs=args.epochs, verbose=2)
    print("next frames:", model.evaluate(test, verbose=0, return_dict=True))


if __name__ == "__main__":
    main()
