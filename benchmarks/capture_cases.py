"""The tiny models whose device profiles `capture_profiles` records, compiled and warmed up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PROFILED_STEPS = 3
ROUNDS = 3
ROUND_S = 0.3
BATCH = 64


class Steps:
    """Steps on one frozen batch."""

    def __init__(self, model: Any, step: Callable[[], None], wait: Callable[[], None]) -> None:
        self.model, self.step, self.wait = model, step, wait
        self.layers = [layer.name for layer in model.layers]

    def run(self) -> None:
        """A few steps, waited for."""
        for _ in range(PROFILED_STEPS):
            self.step()
        self.wait()

    def timed(self) -> list[float]:
        """Nanoseconds per step, some times."""
        found = []
        for _ in range(ROUNDS):
            begin, done = time.perf_counter_ns(), 0
            while time.perf_counter_ns() - begin < ROUND_S * 1e9:
                self.run()  # no more enqueued than a profile has
                done += PROFILED_STEPS
            found.append((time.perf_counter_ns() - begin) / done)
        return found


def prepared(backend: str, case: str) -> Steps:
    """The steps of a case, compiled and run before."""
    import numpy as np

    net = case.startswith("net")
    model = _net() if net else _loop()
    settings: dict[str, Any] = {}
    if case.endswith("_graph"):
        settings["jit_compile"] = False
    if case.endswith("_eager"):
        settings["run_eagerly"] = True
    model.compile("adam", "sparse_categorical_crossentropy", **settings)
    random = np.random.default_rng(0)
    x = random.normal(size=(BATCH, 32, 32, 3) if net else (BATCH, 24, 16)).astype("float32")
    y = random.integers(0, 10, BATCH)
    steps = _MAKERS[backend](model, x, y)
    for _ in range(2):
        steps.run()
    return steps


def _net() -> Any:
    import keras
    from keras import layers

    inputs = keras.Input((32, 32, 3), name="image")
    x = layers.Conv2D(32, 3, padding="same", name="conv_a")(inputs)
    x = layers.BatchNormalization(name="norm_a")(x)
    x = layers.Activation("relu", name="relu_a")(x)
    x = layers.MaxPooling2D(4, name="pool_a")(x)
    x = layers.Flatten(name="flat")(x)
    x = layers.Dense(512, activation="relu", name="dense_wide")(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax", name="head")(x), name="net")


def _loop() -> Any:
    """A recurrence that no backend has a fused kernel for."""
    import keras
    from keras import layers

    inputs = keras.Input((24, 16), name="series")
    x = layers.LSTM(32, recurrent_activation="hard_sigmoid", name="lstm")(inputs)
    return keras.Model(inputs, layers.Dense(10, activation="softmax", name="head")(x), name="loop")


def _tensorflow(model: Any, x: Any, y: Any) -> Steps:
    import tensorflow as tf

    batches = iter(tf.data.Dataset.from_tensors((x, y)).cache().repeat())
    model.make_train_function()
    seen: list[Any] = [None]

    def step() -> None:
        seen[0] = model.train_function(batches)

    def wait() -> None:
        tf.nest.flatten(seen[0])[0].numpy()

    return Steps(model, step, wait)


def _jax(model: Any, x: Any, y: Any) -> Steps:
    import jax

    on_device = jax.device_put((x, y))

    def wait() -> None:
        jax.block_until_ready([variable.value for variable in model.variables])

    return Steps(model, lambda: model.train_on_batch(*on_device), wait)


def _torch(model: Any, x: Any, y: Any) -> Steps:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch = [(torch.as_tensor(x, device=device), torch.as_tensor(y, device=device))]
    model.make_train_function()
    model.train()

    def wait() -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return Steps(model, lambda: model.train_function(batch), wait)


_MAKERS: dict[str, Callable[[Any, Any, Any], Steps]] = {
    "tensorflow": _tensorflow,
    "jax": _jax,
    "torch": _torch,
}
