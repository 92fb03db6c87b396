# Corpus 125 (tensorflow#46012) and 130: a new tf.function in every epoch is a new trace.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import argparse

import keras
import numpy as np
import tensorflow as tf


def make_step(model, optimizer, loss_function):
    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_function(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def train_epoch(model, optimizer, dataset):
    step = make_step(model, optimizer, keras.losses.Huber())
    total = 0.0
    for x, y in dataset:
        total += float(step(x, y))
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--rate", type=float, default=1e-3)
    options = parser.parse_args()

    keras.utils.set_random_seed(5)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(640, 30)).astype("float32")
    y = rng.normal(size=(640, 1)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    model = keras.Sequential([keras.Input((30,))])
    for width in (128, 128, 64, 64):
        model.add(keras.layers.Dense(width, activation="relu"))
    model.add(keras.layers.Dense(1))
    optimizer = keras.optimizers.Adam(options.rate)
    optimizer.build(model.trainable_variables)

    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    for epoch in range(max(1, round(options.epochs * scale))):
        print(epoch, train_epoch(model, optimizer, dataset))


if __name__ == "__main__":
    main()
