"""`predict`, `fit` and callbacks for every row, batch or epoch."""

from __future__ import annotations

from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import mlp, rows
from benchmarks.articles.timing import called, fit, timed

_CALLS = 10
_BACKENDS = ("tensorflow", "jax", "torch")


def _repeat(work: Any) -> Any:
    return timed(lambda: [work() for _ in range(_CALLS)])


def _predict() -> Timed:
    import keras

    model = mlp()
    x, _ = rows(1)

    def called() -> Any:
        return keras.ops.convert_to_numpy(model(x, training=False))

    return Timed(
        {
            "predict": _repeat(lambda: model.predict(x, verbose=0)),
            "model(x)": _repeat(called),
            "predict_on_batch": _repeat(lambda: model.predict_on_batch(x)),
        }
    )


def _predict_rows() -> Timed:
    model = mlp()
    x, _ = rows(_CALLS)

    def row_by_row() -> None:
        for index in range(_CALLS):
            model.predict(x[index : index + 1], verbose=0)

    return Timed(
        {
            "predict for each row": timed(row_by_row),
            "one predict": timed(lambda: model.predict(x, verbose=0)),
        }
    )


def _train_on_batch() -> Timed:
    model, other = mlp(), mlp()
    x, y = rows(32)
    return Timed(
        {
            "fit for each batch": _repeat(lambda: model.fit(x, y, verbose=0)),
            "train_on_batch": _repeat(lambda: other.train_on_batch(x, y)),
        }
    )


def _per_batch() -> Timed:
    import keras

    x, y = rows(32 * 30)

    class Evaluates(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.model.evaluate(x[:32], y[:32], verbose=0)

    class Saves(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.model.save_weights(path)

    import tempfile

    path = f"{tempfile.mkdtemp()}/all.weights.h5"
    return Timed(
        {
            "no callback": fit(mlp(), x, y),
            "evaluate after every batch": fit(mlp(), x, y, callbacks=[Evaluates()]),
            "save_weights after every batch": fit(mlp(), x, y, callbacks=[Saves()]),
        }
    )


def _checkpoint() -> Timed:
    import tempfile

    import keras

    x, y = rows(32 * 20, 512)
    path = f"{tempfile.mkdtemp()}/model.keras"

    def way(**options: Any) -> Any:
        saver = keras.callbacks.ModelCheckpoint(path, **options)
        return fit(mlp(512, 512), x, y, callbacks=[saver])

    return Timed({"save_freq='epoch'": way(), "save_freq=1": way(save_freq=1)})


def _tiny_epochs() -> Timed:
    x, y = rows(32)
    many = rows(32 * 20)

    return Timed(
        {
            "20 epochs of one step": called(mlp(), lambda: (x, y), epochs=20),
            "one epoch of 20 steps": called(mlp(), lambda: many),
        }
    )


def _clear_session() -> Seen:
    import time

    import keras

    x, y = rows(320)
    found = {}
    for clears in (False, True):
        times = []
        for _ in range(12):
            begin = time.perf_counter()
            if clears:
                keras.utils.clear_session()
            mlp().fit(x, y, verbose=0)
            times.append(time.perf_counter() - begin)
        early, late = sorted(times[2:5])[1], sorted(times[-3:])[1]
        name = "with clear_session" if clears else "without"
        found[f"12 models in turn, {name}"] = (
            f"model 3 to 5 took {early * 1e3:.0f} ms, model 10 to 12 {late * 1e3:.0f} ms"
        )
    return Seen(found, timed=True)


def _disable_eager() -> Seen:
    import subprocess
    import sys

    program = (
        "import tensorflow as tf; tf.compat.v1.disable_eager_execution()\n"
        "from benchmarks.articles.models import mlp, rows\n"
        "mlp().fit(*rows(64), verbose=0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return Seen({"a fit after it": "works" if done.returncode == 0 else last[:120]})


CLAIMS = (
    Claim(
        "model-call",
        "popular advice",
        "Call `model(x)` instead of `predict` for a single batch",
        "depends",
        "on the backend; `predict_on_batch` is the fastest on each",
        _predict,
        backends=_BACKENDS,
    ),
    Claim(
        "predict-rows",
        "popular advice",
        "Calling `predict` for each row is fine",
        "false",
        "a call costs far more than a row",
        _predict_rows,
        backends=_BACKENDS,
    ),
    Claim(
        "train-on-batch",
        "popular advice",
        "`train_on_batch` is the fast path",
        "depends",
        "against a `fit` of one batch; on the backend",
        _train_on_batch,
        backends=_BACKENDS,
    ),
    Claim(
        "per-batch-work",
        "popular advice",
        "Evaluate or save after every batch to be safe",
        "false",
        "it takes far longer than the training",
        _per_batch,
    ),
    Claim(
        "save-every-batch",
        "popular advice",
        "`ModelCheckpoint(save_freq=1)` saves once an epoch",
        "false",
        "the number counts batches",
        _checkpoint,
    ),
    Claim(
        "tiny-epochs",
        "popular advice",
        "The length of an epoch is a matter of taste",
        "false",
        "starting an epoch has a price of its own",
        _tiny_epochs,
        backends=_BACKENDS,
    ),
    Claim(
        "clear-session",
        "popular advice",
        "Without `clear_session()` training slows down from model to model",
        "false",
        "true in 2016 to 2018, not any more",
        _clear_session,
    ),
    Claim(
        "disable-eager",
        "popular advice",
        "`disable_eager_execution()` makes Keras faster",
        "false",
        "Keras 3 does not work without eager execution",
        _disable_eager,
    ),
)
