"""A training script with a known waste in a known place; started by `benchmarks.injected`.

    python injected_script.py BACKEND PLACE KIND MILLISECONDS

Without fitdoctor it ends by itself after some seconds and prints its time per step.
"""

from __future__ import annotations

import atexit
import os
import statistics
import sys
import time

backend, place, kind = sys.argv[1:4]
wasted_s = float(sys.argv[4]) / 1e3
os.environ["KERAS_BACKEND"] = backend
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402

PLAIN_S = 6.0
WARM_UP_S = 2.0
BATCH, WIDTH, STEPS = 64, 256, 50
IS_PLAIN = os.environ.get("INJECTED_PLAIN") == "1"

rng = np.random.default_rng(0)
data = rng.normal(size=(BATCH * STEPS, WIDTH)).astype("float32")
target = data[:, :1].copy()
square = rng.normal(size=(64, 64))


taken: list[float] = []
passes = 0  # over the validation data, of which Keras may read some batches twice


def waste() -> None:
    """Sleep, or compute, for the time asked for; keep what it took."""
    begin = time.perf_counter()
    if kind == "sleep":
        time.sleep(wasted_s)
    else:
        while time.perf_counter() < begin + wasted_s:
            np.dot(square, square)
    taken.append(time.perf_counter() - begin)


@atexit.register
def say_what_was_wasted() -> None:
    """What `waste` really took of a step; every step makes one call, or its share of a pass."""
    if taken:
        calls = len(taken) / (passes * STEPS) if passes else 1.0
        print(f"WASTED_MS {statistics.median(taken) * calls * 1e3:.6f}", flush=True)


class Clock:
    """Time per step between the warm-up and the end, over whole epochs."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.marks: list[tuple[float, int]] = []
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if IS_PLAIN and self.steps % STEPS == 0:
            now = time.perf_counter()
            if now - self.begin > WARM_UP_S:
                self.marks.append((now, self.steps))
            if now - self.begin > PLAIN_S + WARM_UP_S and len(self.marks) > 2:
                (first, a), (last, b) = self.marks[0], self.marks[-1]
                print(f"MS_PER_STEP {(last - first) * 1e3 / (b - a):.6f}", flush=True)
                os._exit(0)


clock = Clock()


@keras.saving.register_keras_serializable()
class Injected(keras.layers.Layer):
    """Wastes time inside the step, by a call of Python."""

    def call(self, x):  # type: ignore[no-untyped-def]
        def through(value):  # type: ignore[no-untyped-def]
            waste()
            return np.asarray(value)

        if backend == "tensorflow":
            import tensorflow as tf

            y = tf.numpy_function(through, [tf.stop_gradient(x)], tf.float32)
            y.set_shape(x.shape)
            return x + 0.0 * y
        if backend == "jax":
            import jax

            shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
            y = jax.pure_callback(through, shape, jax.lax.stop_gradient(x))
            return x + 0.0 * y
        waste()
        return x * 1.0

    def compute_output_shape(self, shape):  # type: ignore[no-untyped-def]
        return shape


def model_of() -> keras.Model:
    """A small network, with the waste in it where that is its place."""
    layers = [keras.Input((WIDTH,)), keras.layers.Dense(512, activation="relu")]
    if place == "step":
        if kind == "sleep":
            layers.append(Injected(name="injected"))
        else:
            # Arithmetic of the framework: as wide as asked for, and not trained.
            width = int(wasted_s * 1e3 * 1024)
            layers.append(keras.layers.Dense(width, name="injected", trainable=False))
            layers.append(keras.layers.Dense(512, name="injected_back", trainable=False))
    return keras.Sequential([*layers, keras.layers.Dense(1)])


def batches(slow: bool):  # type: ignore[no-untyped-def]
    """Batches for ever."""
    while True:
        for n in range(STEPS):
            if slow:
                waste()
            yield data[n * BATCH : (n + 1) * BATCH], target[n * BATCH : (n + 1) * BATCH]


class EachBatch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):  # type: ignore[no-untyped-def]
        if place == "callback":
            waste()
        clock.step()


class Validation(keras.utils.PyDataset):
    """Few batches, of which each takes its time."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int):  # type: ignore[no-untyped-def]
        global passes
        for _ in range(STEPS // 5):
            waste()
        passes += index == len(self) - 1
        return data[:BATCH], target[:BATCH]


def with_fit() -> None:
    model = model_of()
    model.compile("sgd", "mse")
    watched = [EachBatch()] if IS_PLAIN or place == "callback" else []
    more = {"validation_data": Validation()} if place == "validation" else {}
    if place == "loader":
        model.fit(batches(True), steps_per_epoch=STEPS, epochs=10_000, verbose=0, callbacks=watched)
    else:
        model.fit(
            data, target, batch_size=BATCH, epochs=10_000, verbose=0, callbacks=watched, **more
        )


def step_of(model):  # type: ignore[no-untyped-def]
    """One update, compiled where the backend compiles."""
    model(data[:BATCH])
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    if backend == "tensorflow":
        import tensorflow as tf

        @tf.function
        def step(x, y):  # type: ignore[no-untyped-def]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            return loss

        return step
    if backend == "jax":
        return jax_step(model, optimizer)

    def step(x, y):  # type: ignore[no-untyped-def]
        import torch

        model.zero_grad()
        loss = ((model(torch.from_numpy(x)) - torch.from_numpy(y)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            optimizer.apply([v.value.grad for v in model.trainable_variables])
        return loss

    return step


def jax_step(model, optimizer):  # type: ignore[no-untyped-def]
    import jax

    def loss_of(weights, fixed, x, y):  # type: ignore[no-untyped-def]
        predicted, fixed = model.stateless_call(weights, fixed, x)
        return ((predicted - y) ** 2).mean(), fixed

    @jax.jit
    def update(state, x, y):  # type: ignore[no-untyped-def]
        weights, fixed, slots = state
        (loss, fixed), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, fixed, x, y)
        weights, slots = optimizer.stateless_apply(slots, gradients, weights)
        return loss, (weights, fixed, slots)

    kept = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]
    state = (kept, fixed, [v.value for v in optimizer.variables])

    def step(x, y):  # type: ignore[no-untyped-def]
        nonlocal state
        loss, state = update(state, x, y)
        return loss

    return step


def with_loop() -> None:
    step = step_of(model_of())
    total = 0.0
    for x, y in batches(place == "loop_loader"):
        loss = step(x, y)
        if place == "loop_body":
            waste()
        if clock.steps % 10 == 0:
            total += float(loss)
        clock.step()


if place.startswith("loop") or place == "none_loop":
    with_loop()
else:
    with_fit()
