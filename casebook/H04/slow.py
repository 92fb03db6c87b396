import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODELS = 25
EPOCHS = 6


def make_dataset(images, labels, seed):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    return dataset.shuffle(len(images), seed=seed).batch(64)


def make_model(width, rate):
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(width, 3, padding="same", activation="relu"),
            layers.Conv2D(width, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(2 * width, 3, padding="same", activation="relu"),
            layers.Conv2D(2 * width, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def main():
    rng = np.random.default_rng(104)
    images = rng.random((3200, 32, 32, 3), dtype="float32")
    labels = rng.integers(0, 10, size=3200)
    held_out = tf.data.Dataset.from_tensor_slices((images[:192], labels[:192])).batch(64)

    models = max(1, round(MODELS * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(models):
            keras.utils.set_random_seed(number)
            model = make_model(width=24, rate=float(10 ** rng.uniform(-4, -2)))
            checkpoint = keras.callbacks.ModelCheckpoint(
                f"{folder}/{number}.weights.h5", save_weights_only=True
            )
            for epoch in range(EPOCHS):
                model.fit(
                    make_dataset(images, labels, seed=epoch),
                    initial_epoch=epoch,
                    epochs=epoch + 1,
                    validation_data=held_out,
                    callbacks=[checkpoint],
                    verbose=1,
                )


if __name__ == "__main__":
    main()
