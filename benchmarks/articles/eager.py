"""Eager execution and `tf.function`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.articles.claim import Claim, Timed
from benchmarks.articles.models import cnn, images, mlp, rows
from benchmarks.articles.timing import fit, timed

_STEPS = 40


def _run_eagerly() -> Timed:
    x, y = rows(32 * _STEPS)
    eager = mlp(run_eagerly=True)
    return Timed({"fit": fit(mlp(), x, y), "run_eagerly=True": fit(eager, x, y)})


def _step(model: Any, *, traced: bool) -> Any:
    import keras
    import tensorflow as tf

    optimizer = keras.optimizers.SGD()
    loss = keras.losses.SparseCategoricalCrossentropy()

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return tf.function(train_step) if traced else train_step


def _loop(model: Any, x: Any, y: Any, steps: int, *, traced: bool) -> Any:
    import tensorflow as tf

    step = _step(model, traced=traced)
    x, y = tf.constant(x), tf.constant(y)

    def work() -> None:
        for _ in range(steps):
            value = step(x, y)
        value.numpy()

    return timed(work)


def _small_step() -> Timed:
    x, y = rows(32)
    return Timed(
        {
            "eager": _loop(mlp(), x, y, _STEPS, traced=False),
            "tf.function": _loop(mlp(), x, y, _STEPS, traced=True),
        }
    )


def _large_step() -> Timed:
    x, y = images(128, 64)
    return Timed(
        {
            "eager": _loop(cnn(64), x, y, 2, traced=False),
            "tf.function": _loop(cnn(64), x, y, 2, traced=True),
        }
    )


def _own_loop() -> Timed:
    return _own_and_fit(lambda: mlp(optimizer="sgd"), *rows(32 * 400))


def _own_large_loop() -> Timed:
    return _own_and_fit(lambda: cnn(optimizer="sgd"), *images(32 * 30))


def _own_and_fit(make: Callable[[], Any], x: Any, y: Any) -> Timed:
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).cache()
    step = _step(make(), traced=True)
    kept: list[Any] = []

    def loop() -> float:
        begin = time.perf_counter()
        iterator = iter(data)
        for inputs, labels in iterator:
            value = step(inputs, labels)
        value.numpy()
        seconds = time.perf_counter() - begin
        kept[:] = [iterator]
        return seconds

    return Timed({"own loop with tf.function": loop, "fit": fit(make(), data)})


def _python_numbers() -> Timed:
    import tensorflow as tf

    x, y = rows(32)
    x, y = tf.constant(x), tf.constant(y)
    step = _step(mlp(), traced=False)
    weighted = tf.function(lambda x, y, w: step(x, y) * w)
    counter = iter(range(10**9))

    def with_numbers() -> None:
        for _ in range(4):
            weighted(x, y, float(next(counter))).numpy()

    def with_tensors() -> None:
        for _ in range(4):
            weighted(x, y, tf.constant(float(next(counter)))).numpy()

    return Timed({"a tensor": timed(with_tensors), "another Python number": timed(with_numbers)})


def _function_in_loop() -> Timed:
    import tensorflow as tf

    x, y = rows(32)
    x, y = tf.constant(x), tf.constant(y)
    step = _step(mlp(), traced=False)
    once = tf.function(step)

    def made_once() -> None:
        for _ in range(4):
            once(x, y).numpy()

    def made_anew() -> None:
        for _ in range(4):
            tf.function(step)(x, y).numpy()

    return Timed({"made once": timed(made_once), "made in the loop": timed(made_anew)})


CLAIMS = (
    Claim(
        "000-eager",
        "article 000",
        "Eager execution adds significant overhead to training",
        "depends",
        "true where it runs eagerly; `fit` compiles its step unless `run_eagerly=True` asks not to",
        _run_eagerly,
        backends=("tensorflow", "jax", "torch"),
    ),
    Claim(
        "000-3-function",
        "article 000, example 3; article 004",
        "`@tf.function` on a hand-written step makes it drastically faster",
        "true",
        "for small steps, where Python is most of the time",
        _small_step,
    ),
    Claim(
        "000-3-large",
        "article 000, example 3",
        "Complex functions might not benefit much from `tf.function`",
        "true",
        "where the arithmetic is the time, less is left to gain",
        _large_step,
    ),
    Claim(
        "002-keras",
        "article 002",
        "The Keras API itself slows training down (tiny steps)",
        "true",
        "by about half a millisecond a step, which `steps_per_execution` takes away",
        _own_loop,
    ),
    Claim(
        "002-keras-large",
        "article 002",
        "The Keras API itself slows training down (steps that compute)",
        "false",
        "a step of `fit` takes about as long as a step of one's own compiled loop",
        _own_large_loop,
    ),
    Claim(
        "python-numbers",
        "popular advice",
        "A `tf.function` takes Python numbers as well as tensors",
        "false",
        "every new number is traced anew",
        _python_numbers,
    ),
    Claim(
        "function-in-loop",
        "popular advice",
        "Wrap the step in `tf.function` where it is used, also in a loop",
        "false",
        "a new function is traced anew, however often its text was traced before",
        _function_in_loop,
    ),
)
