"""jit, precision, batch size, steps_per_execution."""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import cnn, images, mlp, rows
from benchmarks.articles.timing import fit


def _jit() -> Seen:
    x, y = images(320)
    found = {}
    for jit in (False, True):
        model = cnn(jit_compile=jit)
        begin = time.perf_counter()
        model.fit(x[:32], y[:32], verbose=0)
        first = time.perf_counter() - begin
        run = fit(model, x, y)
        step = min(run() for _ in range(3)) / 10
        found[f"jit_compile={jit}"] = (
            f"first step after {first:.1f} s, then {step * 1e3:.0f} ms each"
        )
    return Seen(found, timed=True)


def _precision() -> Timed:
    import keras

    x, y = images(160)
    found = {}
    for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
        keras.config.set_dtype_policy(policy)
        found[policy] = fit(cnn(), x, y)
        found[policy]()  # built and compiled under its own policy
    keras.config.set_dtype_policy("float32")
    return Timed(found)


def _batch(make: Any, data: tuple[Any, Any], sizes: tuple[int, ...]) -> Timed:
    return Timed({f"batch {size}": fit(make(), *data, batch_size=size) for size in sizes})


def _batch_small() -> Timed:
    return _batch(mlp, rows(12_800), (32, 320, 3200))


def _batch_large() -> Timed:
    return _batch(cnn, images(512), (32, 128, 512))


def _spe_tiny() -> Timed:
    x, y = rows(32 * 200)
    return Timed(
        {
            f"steps_per_execution={count}": fit(mlp(steps_per_execution=count), x, y)
            for count in (1, 10)
        }
    )


def _spe_large() -> Timed:
    x, y = images(640)
    return Timed(
        {
            f"steps_per_execution={count}": fit(cnn(steps_per_execution=count), x, y)
            for count in (1, 10)
        }
    )


def _spe_torch() -> Seen:
    x, y = rows(64)
    try:
        mlp(steps_per_execution=10).fit(x, y, verbose=0)
    except Exception as error:  # noqa: BLE001 - which one is what is asked
        return Seen({"steps_per_execution=10": f"{type(error).__name__}: {error}"[:120]})
    return Seen({"steps_per_execution=10": f"accepted by {os.environ['KERAS_BACKEND']}"})


def _idle() -> Seen:
    """Cores that are not busy although nothing waits for data."""
    x, y = rows(32 * 400)
    model = mlp()
    model.fit(x, y, verbose=0)
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(x, y, epochs=2, verbose=0)
    used = (time.process_time() - cpu) / (time.perf_counter() - begin)
    return Seen({"cores used by tiny steps on arrays in memory": f"{used:.1f} of {os.cpu_count()}"})


CLAIMS = (
    Claim(
        "001-precision",
        "article 001; popular advice",
        "Mixed precision speeds training up",
        "depends",
        "not on a CPU without instructions for it; on an H200 fitdoctor priced it 1.7x (1.6–1.7) "
        "for a large network (casebook G05, JAX)",
        _precision,
    ),
    Claim(
        "000-batch",
        "article 000; popular advice",
        "A bigger batch is faster (small model)",
        "depends",
        "while starting a step costs more than computing it; it also changes the training",
        _batch_small,
    ),
    Claim(
        "000-batch-large",
        "article 000; popular advice",
        "A bigger batch is faster (convolutions on a CPU)",
        "false",
        "the arithmetic is the time",
        _batch_large,
    ),
    Claim(
        "jit",
        "popular advice",
        "`jit_compile=True` makes it faster",
        "depends",
        "on backend and device; on a CPU the default is mostly right",
        _jit,
        backends=("tensorflow", "jax"),
    ),
    Claim(
        "spe-tiny",
        "popular advice",
        "`steps_per_execution` everywhere (tiny steps)",
        "true",
        "fewer returns to Python; batch callbacks are called less often",
        _spe_tiny,
        backends=("tensorflow", "jax"),
    ),
    Claim(
        "spe-large",
        "popular advice",
        "`steps_per_execution` everywhere (steps that compute)",
        "false",
        "nothing to gain",
        _spe_large,
    ),
    Claim(
        "spe-torch",
        "popular advice",
        "`steps_per_execution` everywhere (torch)",
        "false",
        "the torch backend refuses it",
        _spe_torch,
        backends=("torch",),
    ),
    Claim(
        "idle-means-input",
        "article 000; popular advice",
        "Idle cores, or a GPU below 80 %, mean a slow input pipeline",
        "false",
        "tiny steps leave cores idle with all data in memory; so do callbacks and validation",
        _idle,
    ),
)
