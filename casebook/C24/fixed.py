import os

os.environ["KERAS_BACKEND"] = "jax"

import time
from concurrent.futures import ThreadPoolExecutor

import jax
import keras
import numpy as np

ROWS, FEATURES, BATCH = 2048, 64, 64


def fetch(store, rows):
    time.sleep(0.02)  # a round trip to the feature store
    return store[rows]


def get_batch(store, targets, number):
    rows = slice(number * BATCH, (number + 1) * BATCH)
    return fetch(store, rows), targets[rows]


def read_ahead(store, targets, readers=4):
    """The same batches in the same order, four of them on their way."""
    with ThreadPoolExecutor(readers) as pool:
        numbers = range(ROWS // BATCH)
        yield from pool.map(lambda number: get_batch(store, targets, number), numbers)


def make_step(model, optimizer):
    loss_fn = keras.losses.MeanSquaredError()

    def loss_of(weights, state, x, y):
        predicted, state = model.stateless_call(weights, state, x, training=True)
        return loss_fn(y, predicted), state

    gradient = jax.value_and_grad(loss_of, has_aux=True)

    @jax.jit
    def step(weights, state, moments, x, y):
        (loss, state), gradients = gradient(weights, state, x, y)
        weights, moments = optimizer.stateless_apply(moments, gradients, weights)
        return weights, state, moments, loss

    return step


def main():
    keras.utils.set_random_seed(24)
    rng = np.random.default_rng(24)
    store = rng.normal(size=(ROWS, FEATURES)).astype("float32")
    targets = store[:, :1] * 2
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    step = make_step(model, optimizer)
    weights = [variable.value for variable in model.trainable_variables]
    state = [variable.value for variable in model.non_trainable_variables]
    moments = [variable.value for variable in optimizer.variables]
    epochs = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    for epoch in range(epochs):
        for x, y in read_ahead(store, targets):
            weights, state, moments, loss = step(weights, state, moments, x, y)
        print(f"epoch {epoch}: {float(loss):.4f}")


if __name__ == "__main__":
    main()
