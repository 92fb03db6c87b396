import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def normalise(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


def main():
    keras.utils.set_random_seed(102)
    rng = np.random.default_rng(102)
    images = rng.integers(0, 256, size=(1920, 32, 32, 3), dtype="uint8")
    labels = rng.integers(0, 10, size=1920)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32).map(normalise)

    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(24, 3, padding="same", activation="relu"),
            layers.Conv2D(24, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(48, 3, padding="same", activation="relu"),
            layers.Conv2D(48, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(96, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    model.fit(dataset, epochs=max(1, round(10 * scale)), verbose=2)


if __name__ == "__main__":
    main()
