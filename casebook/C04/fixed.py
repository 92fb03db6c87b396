# Corpus 117 (tdspora/syngen#566): .numpy() in the step keeps it from being compiled.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops


class TableVAE(keras.Model):
    """Learns to invent rows of a table."""

    def __init__(self, columns, code=4):
        super().__init__()
        self.encode = keras.Sequential(
            [layers.Dense(64, activation="relu"), layers.Dense(2 * code)]
        )
        self.decode = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(columns)])
        self.seed = keras.random.SeedGenerator(4)

    def call(self, rows):
        mean, log_var = ops.split(self.encode(rows), 2, axis=1)
        noise = keras.random.normal(ops.shape(mean), seed=self.seed)
        return self.decode(mean + ops.exp(0.5 * log_var) * noise), mean, log_var


class Training:
    def __init__(self, vae):
        self.vae = vae
        self.optimizer = keras.optimizers.Adam(1e-3)

    @tf.function
    def step(self, rows):
        with tf.GradientTape() as tape:
            copy, mean, log_var = self.vae(rows)
            error = ops.mean(ops.square(copy - rows))
            kl = -0.5 * ops.mean(1 + log_var - ops.square(mean) - ops.exp(log_var))
            loss = error + 0.01 * kl
        weights = self.vae.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return error, kl

    def run(self, dataset, epochs):
        for epoch in range(epochs):
            errors, kls = [], []
            for rows in dataset:
                error, kl = self.step(rows)
                errors.append(error.numpy())
                kls.append(kl.numpy())
            print(epoch, np.mean(errors), np.mean(kls))


keras.utils.set_random_seed(4)
table = np.random.default_rng(4).normal(size=(3200, 20)).astype("float32")
vae = TableVAE(columns=20)
vae(table[:1])
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
Training(vae).run(tf.data.Dataset.from_tensor_slices(table).batch(32), epochs)
