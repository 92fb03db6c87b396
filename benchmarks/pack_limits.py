"""How near reading a pack comes to what disk and memory can give, and what a second reader adds.

Rows for `benchmarks.pack`: the same shards read by `fitdoctor.load`, as bytes from memory, as
bytes from the disk (the kernel is told to let go of them first), and copied within memory.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIECE = 1 << 20
READERS = (1, 2)


def limit_rows(pack: Path, rounds: int) -> list[dict[str, Any]]:
    """Rates of reading a pack of pixels, in turn with what bounds them."""
    import numpy as np

    import fitdoctor
    from fitdoctor.pack.manifest import read_manifest

    paths = sorted(pack.glob("shard-*.tfrecord"))
    size = sum(path.stat().st_size for path in paths)
    items = read_manifest(pack).records
    buffer, target = np.ones(size, np.uint8), np.empty(size, np.uint8)

    def loaded() -> None:
        for _ in fitdoctor.load(pack, batch=256, fields=("image",)):
            pass

    def from_disk(read: Callable[[], None]) -> Callable[[], float]:
        def timed() -> float:
            for path in paths:
                let_go(path)
            return seconds_of(read)

        return timed

    ways: dict[str, Callable[[], float]] = {
        "load tf.data, in memory": lambda: seconds_of(loaded),
        "load tf.data, from the disk": from_disk(loaded),
        "bytes, in memory": lambda: seconds_of(lambda: read_bytes(paths)),
        "bytes, from the disk": from_disk(lambda: read_bytes(paths)),
        "memcpy": lambda: seconds_of(lambda: np.copyto(target, buffer)),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, timed in ways.items():
            seconds[way].append(timed())
    return [
        {
            "what": "read pixels",
            "way": way,
            "items": items,
            "items_per_s": items / statistics.median(times),
            "mb_per_s": size / statistics.median(times) / 1e6,
            "seconds": times,
        }
        for way, times in seconds.items()
    ]


def reader_rows(pack: Path, rounds: int) -> list[dict[str, Any]]:
    """One reader with all shards against two with half of them each, in processes."""
    from fitdoctor.pack.manifest import read_manifest

    items = read_manifest(pack).records
    seconds: dict[tuple[str, int], list[float]] = {}
    for kind in ("tf.data", "torch"):
        crews = {count: [started(pack, kind, n, count) for n in range(count)] for count in READERS}
        for _ in range(rounds):
            for count, crew in crews.items():
                seconds.setdefault((kind, count), []).append(at_once(crew))
        for crew in crews.values():
            for process in crew:
                process.communicate()
    rows = []
    for (kind, count), times in seconds.items():
        alone = statistics.median(seconds[kind, 1])
        rows.append(
            {
                "what": "read images",
                "way": f"{kind}, {count} reader{'s' * (count > 1)}",
                "items": items,
                "items_per_s": items / statistics.median(times),
                "against_one": alone / statistics.median(times),
                "seconds": times,
            }
        )
    return rows


def started(pack: Path, kind: str, index: int, count: int) -> subprocess.Popen[str]:
    """A reader that has read its part once and waits."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.pack_reader", pack, kind, str(index), str(count)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if process.stdout is None or process.stdout.readline() != "ready\n":
        raise RuntimeError(f"the {kind} reader did not start")
    return process


def at_once(crew: list[subprocess.Popen[str]]) -> float:
    """Seconds until the last of some readers is done."""
    for process in crew:
        if process.stdin is not None:
            process.stdin.write("go\n")
            process.stdin.flush()
    return max(float(process.stdout.readline()) for process in crew if process.stdout is not None)


def seconds_of(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def read_bytes(paths: list[Path]) -> None:
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(PIECE):
                pass


def let_go(path: Path) -> None:
    """Have the kernel forget what it holds of a file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
