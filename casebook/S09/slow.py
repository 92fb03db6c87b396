import os

import keras
import numpy as np
import tensorflow as tf
from keras import layers

IMAGES = 160
SIDE = 512


def photographs(rng):
    """JPEG files as a camera writes them: large areas of colour, some grain."""
    grain = rng.integers(0, 24, size=(SIDE, SIDE, 3), dtype="uint8")
    files = []
    for number in range(IMAGES):
        areas = rng.integers(0, 230, size=(16, 16, 3), dtype="uint8")
        areas = areas.repeat(SIDE // 16, axis=0).repeat(SIDE // 16, axis=1)
        files.append(tf.io.encode_jpeg(areas + np.roll(grain, 5 * number, axis=0)).numpy())
    return files


def decode(data, label):
    image = tf.io.decode_jpeg(data, channels=3)
    return tf.image.resize(image, (64, 64)) / 255.0, label


def make_model():
    model = keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


def main():
    keras.utils.set_random_seed(9)
    rng = np.random.default_rng(9)
    files, labels = np.array(photographs(rng), dtype=object), rng.integers(0, 4, size=IMAGES)
    # Drawn with replacement, as in bagging.
    drawn = rng.integers(0, IMAGES, size=720)
    dataset = (
        tf.data.Dataset.from_tensor_slices((files[drawn], labels[drawn]))
        .map(decode, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(16)
    )
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    make_model().fit(dataset, epochs=max(1, round(20 * scale)), verbose=0)


if __name__ == "__main__":
    main()
