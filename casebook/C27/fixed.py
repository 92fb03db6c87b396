"""Leaf photos sorted by a small network of depthwise convolutions, in a loop of one's own."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SIDE, BATCH, KINDS = 32, 32, 10
STEPS = max(10, round(800 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


def block(x, filters, stride):
    x = layers.DepthwiseConv2D(5, strides=stride, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 1, activation="relu")(x)


def network():
    photo = keras.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(photo)
    for filters, stride in ((48, 1), (64, 2), (64, 1)):
        x = block(x, filters, stride)
    return keras.Model(photo, layers.Dense(KINDS)(layers.GlobalAveragePooling2D()(x)))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = keras.optimizers.SGD(0.02)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(self, photos, kinds):
        with tf.GradientTape() as tape:
            loss = self.loss(kinds, self.model(photos, training=True))
        weights = self.model.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    def run(self, photos, kinds):
        order = np.random.default_rng(1)
        for number in range(STEPS):
            pick = order.integers(0, len(photos), BATCH)
            loss = self.step(photos[pick], kinds[pick])
            if number % 50 == 0:
                print(number, f"{float(loss):.3f}", flush=True)


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
photos = rng.random((1024, SIDE, SIDE, 3), dtype="float32")
kinds = rng.integers(0, KINDS, 1024)
Trainer(network()).run(photos, kinds)
