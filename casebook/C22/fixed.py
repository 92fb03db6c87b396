"""Day-ahead load forecasting with quantiles: residual blocks in the N-BEATS manner.

Written for the JAX backend with Keras' stateless API, so that the whole state
is passed around explicitly.
"""
import os

os.environ["KERAS_BACKEND"] = "jax"

import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers

QUANTILES = np.array([0.1, 0.5, 0.9], "float32")


@dataclass(frozen=True)
class Setup:
    lookback: int = 96
    horizon: int = 24
    width: int = 64
    blocks: int = 4
    batch: int = 128
    steps: int = max(10, round(6000 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    lr: float = 1e-3


def load_series(n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    h = np.arange(n)
    daily = np.sin(2 * np.pi * h / 24) + 0.4 * np.sin(4 * np.pi * h / 24 + 0.6)
    weekly = 0.5 * np.sin(2 * np.pi * h / 168)
    drift = np.cumsum(rng.normal(0, 0.01, n))
    return (daily + weekly + drift + 0.15 * rng.normal(size=n)).astype("float32")


def build(setup):
    past = keras.Input((setup.lookback,))
    residual, forecast = past, None
    for b in range(setup.blocks):
        h = layers.Dense(setup.width, activation="relu", name=f"b{b}_fc1")(residual)
        h = layers.Dense(setup.width, activation="relu", name=f"b{b}_fc2")(h)
        back = layers.Dense(setup.lookback, name=f"b{b}_backcast")(h)
        fore = layers.Dense(setup.horizon * len(QUANTILES), name=f"b{b}_forecast")(h)
        residual = layers.Subtract()([residual, back])
        forecast = fore if forecast is None else layers.Add()([forecast, fore])
    out = layers.Reshape((setup.horizon, len(QUANTILES)))(forecast)
    return keras.Model(past, out, name="quantile_nbeats")


def windows(series, setup, seed):
    rng = np.random.default_rng(seed)
    reach = setup.lookback + setup.horizon
    offsets = np.arange(reach)
    for _ in range(setup.steps):
        start = rng.integers(0, len(series) - reach, setup.batch)
        block = series[start[:, None] + offsets]
        level = block[:, : setup.lookback].mean(axis=1, keepdims=True)
        block = block - level
        yield block[:, : setup.lookback], block[:, setup.lookback :]


def pinball(target, predicted):
    error = target[..., None] - predicted
    return jnp.mean(jnp.maximum(QUANTILES * error, (QUANTILES - 1.0) * error))


def make_train_step(model, optimizer):
    def compute_loss(trainable, non_trainable, x, y):
        predicted, non_trainable = model.stateless_call(
            trainable, non_trainable, x, training=True
        )
        return pinball(y, predicted), non_trainable

    grad_fn = jax.value_and_grad(compute_loss, has_aux=True)

    @jax.jit
    def train_step(state, x, y):
        trainable, non_trainable, opt_vars = state
        (loss, non_trainable), grads = grad_fn(trainable, non_trainable, x, y)
        trainable, opt_vars = optimizer.stateless_apply(opt_vars, grads, trainable)
        return loss, (trainable, non_trainable, opt_vars)

    return train_step


def main():
    setup = Setup()
    keras.utils.set_random_seed(2)
    series = load_series()
    model = build(setup)
    optimizer = keras.optimizers.Adam(setup.lr)
    optimizer.build(model.trainable_variables)
    train_step = make_train_step(model, optimizer)

    state = (
        [v.value for v in model.trainable_variables],
        [v.value for v in model.non_trainable_variables],
        [v.value for v in optimizer.variables],
    )
    started = time.perf_counter()
    for step, (x, y) in enumerate(windows(series, setup, seed=3)):
        loss, state = train_step(state, x, y)
        if step % 100 == 0:
            took = time.perf_counter() - started
            print(f"{step:5d}  pinball {float(loss):.4f}  {took:6.1f} s", flush=True)

    for variable, value in zip(model.trainable_variables, state[0]):
        variable.assign(value)


if __name__ == "__main__":
    main()
