"""tf.data, generators and arrays with the same rows."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import mlp, rows
from benchmarks.articles.timing import called, fit

_ROWS = 20_000


def _always_tf_data() -> Timed:
    import tensorflow as tf

    x, y = rows(_ROWS)
    slices = tf.data.Dataset.from_tensor_slices((x, y))
    per_row = slices.map(lambda row, label: (row * 2.0, label)).batch(256)
    return Timed(
        {
            "NumPy arrays": fit(mlp(), x * 2, y, batch_size=256),
            "tf.data, a map per row": fit(mlp(), per_row),
            "tf.data, shuffle and batch": fit(mlp(), slices.shuffle(_ROWS).batch(256)),
        }
    )


def _generators() -> Timed:
    import tensorflow as tf

    x, y = rows(6_400)
    kinds = (
        tf.TensorSpec((20,), tf.float32),
        tf.TensorSpec((), tf.int64),
    )
    batched = (
        tf.TensorSpec((None, 20), tf.float32),
        tf.TensorSpec((None,), tf.int64),
    )

    def single() -> Any:
        yield from zip(x, y, strict=True)

    def whole() -> Any:
        for start in range(0, len(x), 32):
            yield x[start : start + 32], y[start : start + 32]

    made = tf.data.Dataset.from_generator
    return Timed(
        {
            "a generator of rows": fit(mlp(), made(single, output_signature=kinds).batch(32)),
            "a generator of batches": fit(mlp(), made(whole, output_signature=batched)),
            "arrays": fit(mlp(), x, y),
        }
    )


def _float64() -> Timed:
    import numpy as np

    model = mlp(inputs=100)
    x = np.zeros((100_000, 100), "float64")
    y = np.zeros(len(x), "int64")
    single = x.astype("float32")
    return Timed(
        {
            "float64 arrays": called(model, lambda: (x, y), batch_size=10_000),
            "float32 arrays": called(model, lambda: (single, y), batch_size=10_000),
        }
    )


def _recreated() -> Timed:
    import tensorflow as tf

    x, y = rows(3_200)

    def data() -> Any:
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

    kept, compiling = data(), mlp()

    def compile_and_take() -> tuple[Any, ...]:
        compiling.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
        return (kept,)

    return Timed(
        {
            "one dataset": called(mlp(), lambda: (kept,)),
            "a new dataset each epoch": called(mlp(), lambda: (data(),)),
            "compile() each epoch": called(compiling, compile_and_take),
        }
    )


def _first_epoch() -> Seen:
    import keras

    times: list[float] = []

    class Clock(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begin = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            times.append(time.perf_counter() - self.begin)

    x, y = rows(3_200)
    mlp().fit(x, y, epochs=4, verbose=0, callbacks=[Clock()])
    later = sorted(times[1:])[1]
    return Seen(
        {"first epoch": f"{times[0] * 1e3:.0f} ms", "later epochs": f"{later * 1e3:.0f} ms"},
        timed=True,
    )


CLAIMS = (
    Claim(
        "always-tf-data",
        "popular advice",
        "Use tf.data, it is always faster",
        "false",
        "for rows in memory, `fit` on the arrays is faster than a pipeline that handles rows one "
        "by one",
        _always_tf_data,
    ),
    Claim(
        "generators",
        "popular advice",
        "`from_generator` is good enough for data in memory",
        "false",
        "every row passes through Python; whole batches cost a fraction",
        _generators,
    ),
    Claim(
        "float64",
        "popular advice",
        "The type of an array does not matter, Keras casts it",
        "false",
        "it casts the whole array in every call of `fit`",
        _float64,
    ),
    Claim(
        "recreated-dataset",
        "popular advice",
        "Creating the dataset again in each epoch is slow",
        "false",
        "that is nearly free; `compile` in the loop is what costs",
        _recreated,
    ),
    Claim(
        "first-epoch",
        "article 004; popular advice",
        "The first epoch is slow because of tracing, compiling and allocation",
        "true",
        "and is no bug; more than that is a shuffle buffer or a cold disk",
        _first_epoch,
        backends=("tensorflow", "jax", "torch"),
    ),
)
