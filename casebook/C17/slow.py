#!/usr/bin/env python3
"""SGDR (cosine annealing with warm restarts) for the plankton feature classifier."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import logging
import math
import time

import numpy as np
import keras
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

log = logging.getLogger("sgdr")


def sgdr(cycle_len, mult, lr_max, lr_min, total):
    """Yields one learning rate per epoch."""
    n, length = 0, cycle_len
    while n < total:
        for k in range(length):
            if n >= total:
                return
            yield lr_min + 0.5 * (lr_max - lr_min) * (1 + math.cos(math.pi * k / length))
            n += 1
        length *= mult


def plankton(n=6000, d=200, classes=30, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(classes, d))
    y = rng.integers(0, classes, n)
    x = centre[y] + 2.2 * rng.normal(size=(n, d))
    return x.astype("float32"), y.astype("int32")


def network(d, classes):
    inp = keras.Input((d,))
    h = layers.Dense(384)(inp)
    for _ in range(5):
        r = layers.BatchNormalization()(h)
        r = layers.Activation("swish")(r)
        r = layers.Dense(384)(r)
        r = layers.Dropout(0.1)(r)
        h = layers.Add()([h, r])
    return keras.Model(inp, layers.Dense(classes, activation="softmax")(h))


def main(epochs=max(1, round(30 * SCALE))):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    keras.utils.set_random_seed(3)
    x, y = plankton()
    x_val, y_val = x[-600:], y[-600:]
    x, y = x[:-600], y[:-600]
    model = network(x.shape[1], 30)
    for epoch, lr in enumerate(sgdr(4, 2, 0.05, 1e-4, epochs)):
        t0 = time.time()
        model.compile(
            optimizer=keras.optimizers.SGD(learning_rate=lr, momentum=0.9, nesterov=True),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
        h = model.fit(x, y, batch_size=100, epochs=1, validation_data=(x_val, y_val), verbose=0)
        log.info("epoch %2d lr %.5f loss %.4f val_acc %.4f (%.2f s)", epoch, lr, h.history["loss"][0],
                 h.history["val_accuracy"][0], time.time() - t0)


if __name__ == "__main__":
    main()
