"""Worker threads, worker processes, and how many cores training uses by itself."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from benchmarks.articles.claim import Claim, Seen, Timed
from benchmarks.articles.models import cnn, compiled, images, rows
from benchmarks.articles.timing import fit, timed


def _model(size: int = 8) -> Any:
    import keras

    layers = keras.layers
    return compiled([layers.Flatten(), layers.Dense(10, activation="softmax")], (size, size, 3))


class _Loader:
    """Makes a dataset class once Keras is there; workers must be able to import its parts."""

    def __new__(cls, batches: int, size: int, work: Any, **arguments: Any) -> Any:
        import keras
        import numpy as np

        class Batches(keras.utils.PyDataset):  # type: ignore[misc]
            def __len__(self) -> int:
                return batches

            def __getitem__(self, index: int) -> Any:
                work()
                return np.zeros((32, size, size, 3), "float32"), np.zeros(32, "int64")

        return Batches(**arguments)


def _python_work() -> None:
    total = 0
    for number in range(300_000):
        total += number


def _waiting() -> None:
    time.sleep(0.02)


def _nothing() -> None:
    return


def _large_batches() -> Timed:
    def way(**arguments: Any) -> Any:
        return fit(_model(224), _Loader(12, 224, _nothing, **arguments))

    return Timed(
        {
            "no workers": way(),
            "2 threads": way(workers=2),
            "2 processes": way(workers=2, use_multiprocessing=True),
        }
    )


def _long_python() -> Timed:
    def way(**arguments: Any) -> Any:
        return fit(_model(), _Loader(60, 8, _python_work, **arguments), epochs=1)

    return Timed(
        {
            "no workers": way(),
            "2 threads": way(workers=2),
            "2 processes": way(workers=2, use_multiprocessing=True),
        }
    )


def _latency() -> Timed:
    def way(**arguments: Any) -> Any:
        return fit(_model(), _Loader(24, 8, _waiting, **arguments))

    return Timed({"no workers": way(), "8 threads": way(workers=8)})


def _removed() -> Seen:
    x, y = rows(64)
    from benchmarks.articles.models import mlp

    try:
        mlp().fit(x, y, workers=2, use_multiprocessing=True, verbose=0)
    except TypeError as error:
        return Seen({"fit(workers=2)": f"TypeError: {error}"[:120]})
    return Seen({"fit(workers=2)": "accepted"})


def _cores() -> Seen:
    """By thread, so that the answer does not depend on who else uses the machine."""
    x, y = images(1280)
    model = cnn()
    model.fit(x, y, verbose=0)
    before = _thread_ticks()
    model.fit(x, y, epochs=3, verbose=0)
    spent = [ticks - before.get(thread, 0) for thread, ticks in _thread_ticks().items()]
    share = max(spent) / max(1, sum(spent))
    return Seen(
        {
            "threads that computed": str(sum(each > 0.05 * sum(spent) for each in spent)),
            "the busiest did": f"{share:.0%} of the work",
            "cores": str(os.cpu_count()),
        }
    )


def _thread_ticks() -> dict[str, int]:
    """CPU time of every thread of this process (Linux)."""
    found = {}
    for folder in Path("/proc/self/task").iterdir():
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        found[folder.name] = int(fields[11]) + int(fields[12])
    return found


def _threads() -> Seen:
    """32 threads on all cores, then pinned to one, each in a process of its own."""
    import subprocess
    import sys

    found = {}
    for name, threads, cores in (
        ("default, all cores", 0, 0),
        ("32 threads, all cores", 32, 0),
        ("1 thread, one core", 1, 1),
        ("32 threads, one core", 32, 1),
    ):
        command = [sys.executable, "-c", _PINNED.format(threads=threads, cores=cores)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = f"{float(done.stdout.split()[-1]):.0f} ms a step"
    return Seen(found, timed=True)


_PINNED = """
import os, time
if {cores}:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])
import tensorflow as tf
if {threads}:
    tf.config.threading.set_intra_op_parallelism_threads({threads})
    tf.config.threading.set_inter_op_parallelism_threads({threads})
from benchmarks.articles.models import cnn, images
x, y = images(1280)
model = cnn()
model.fit(x, y, verbose=0)
begin = time.perf_counter()
model.fit(x, y, epochs=2, verbose=0)
print((time.perf_counter() - begin) / 80 * 1000, flush=True)
os._exit(0)
"""


def _bandwidth() -> Timed:
    """Rows of a large array in order and out of order: the same arithmetic."""
    import numpy as np

    data = np.ones((400_000, 64), "float32")
    order = np.arange(len(data))
    mixed = np.random.default_rng(0).permutation(order)

    def gather(index: Any) -> Any:
        return timed(lambda: [data[index[i : i + 4096]] for i in range(0, len(index), 4096)])

    return Timed({"rows in order": gather(order), "rows out of order": gather(mixed)})


CLAIMS = (
    Claim(
        "000-memory",
        "article 000",
        "Memory bandwidth and access patterns limit a CPU",
        "true",
        "the same rows collected in another order",
        _bandwidth,
    ),
    Claim(
        "003-2-core",
        "article 003, part 2",
        "Keras uses a single CPU core unless told otherwise",
        "false",
        "the backend spreads its arithmetic over all cores",
        _cores,
        backends=("tensorflow", "jax", "torch"),
    ),
    Claim(
        "003-2-workers",
        "article 003, example 2",
        "`fit(workers=…, use_multiprocessing=True)` uses more cores",
        "false",
        "`fit` has had no such arguments since Keras 3; they belong to the `PyDataset`",
        _removed,
    ),
    Claim(
        "003-2-large",
        "article 003, example 2; popular advice",
        "Worker processes make loading faster: large batches, little work",
        "false",
        "shipping a batch between processes costs more than making it",
        _large_batches,
    ),
    Claim(
        "003-2-python",
        "article 003, example 2; popular advice",
        "Worker processes, or more worker threads, make loading faster: much Python, small batches",
        "depends",
        "processes do, once they have started; threads do not, since Python's lock lets one "
        "through",
        _long_python,
    ),
    Claim(
        "workers-latency",
        "popular advice",
        "More workers are faster: reads that wait for disk or network",
        "true",
        "waiting can be done side by side, in threads",
        _latency,
    ),
    Claim(
        "threads",
        "popular advice",
        "Set 32 threads",
        "depends",
        "harmless where cores are free, slower where the process may use fewer",
        _threads,
    ),
)
