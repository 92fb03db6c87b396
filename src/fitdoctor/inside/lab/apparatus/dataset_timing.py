"""How fast a tf.data dataset gives its elements, without Python in the way.

Pulling one element from Python costs tens of microseconds, more than many stages do.
Short elements are therefore pulled many at a time by `Dataset.window`, which collects them
in native code.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.seams.backends import batches

SECONDS = 0.5
CALIBRATION_S = 0.25
# A cache may fill more slowly than its elements were made without it: so many times as long.
MOST_PATIENCE = 4.0
# From here on the cost of one pull from Python does not matter.
LONG_ELEMENT_S = 0.001
PULL_S = 0.02  # one pull of a window takes about this long
MOST_PER_PULL = 4096
MOST_PULL_BYTES = 64 * 2**20
WINDOW_S = 0.06
# A first element that comes within this time is asked for so many times.
SOON_S = 0.15
FIRSTS = 4


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per element, window by window, with the CPU time they took."""

    windows: Windows
    first_ns: int  # from making the iterator to its first element
    element_bytes: int | None

    @property
    def ns(self) -> float:
        """The median window."""
        values = sorted(self.windows.ns)
        return values[len(values) // 2]

    @property
    def cores(self) -> float:
        """CPU use of this process meanwhile; 1.0 is one core."""
        return self.windows.fields()["own_cores"]


class Iterators:
    """Iterators of several probes, kept until all of these are over.

    TensorFlow may wait for seconds for the threads of an iterator that is let go; that must
    not happen between two measurements.
    """

    def __init__(self) -> None:
        self._kept: deque[Any] = deque()

    def open(self, dataset: Any) -> Iterator[Any]:
        """An iterator over the dataset."""
        iterator: Iterator[Any] = iter(dataset)
        self._kept.append(iterator)
        return iterator

    def close(self) -> None:
        """Let all of them go, the oldest first: the other way round took ten times as long."""
        while self._kept:
            self._kept.popleft()


def time_dataset(
    dataset: Any,
    iterators: Iterators,
    *,
    seconds: float = SECONDS,
    skip_s: float = 0.0,
    skip: int = 0,
) -> Timing:
    """Elements per second of an endless reading of the dataset.

    Args:
        dataset: what to read; its end is not the end of the reading.
        iterators: keeps what must not be let go yet.
        seconds: how long to time.
        skip_s: read this long before timing, so that buffers and caches fill.
        skip: and at least so many elements, however slow filling turns out to be.
    """
    endless = dataset.repeat()
    begin = time.perf_counter()
    iterator = iterators.open(endless)
    first = next(iterator)
    first_s = _usual_first(endless, iterators, time.perf_counter() - begin)
    size = bytes_of(first)
    _read(iterator, skip, MOST_PATIENCE * skip_s)
    # As long as is timed later is enough to know how long an element takes.
    calibration_s = min(CALIBRATION_S, seconds)
    element_s = _calibrate(iterator, max(calibration_s, 0.0 if skip else skip_s))
    if element_s >= LONG_ELEMENT_S:
        return Timing(_timed(iterator, 1, seconds), int(first_s * 1e9), size)
    count = _per_pull(element_s, size)
    many = iterators.open(endless.window(count))
    next(many)
    return Timing(_timed(many, count, seconds), int(first_s * 1e9), size)


def _usual_first(dataset: Any, iterators: Iterators, once_s: float) -> float:
    """Seconds to the first element, as in later epochs: the very first time takes longer.

    Only asked again where that is soon done; a buffer that fills for long is not filled again.
    """
    times = [once_s]
    while len(times) < FIRSTS and once_s < SOON_S:
        begin = time.perf_counter()
        next(iterators.open(dataset))
        times.append(time.perf_counter() - begin)
    return sorted(times)[(len(times) - 1) // 2]


def _read(iterator: Iterator[Any], count: int, longest_s: float) -> None:
    begin = time.perf_counter()
    for _ in range(count):
        next(iterator)
        if time.perf_counter() - begin > longest_s:
            return


def _calibrate(iterator: Iterator[Any], seconds: float) -> float:
    begin = time.perf_counter()
    count = 0
    while time.perf_counter() - begin < seconds:
        next(iterator)
        count += 1
    return (time.perf_counter() - begin) / count


def _per_pull(element_s: float, size: int | None) -> int:
    count = max(16, min(MOST_PER_PULL, int(PULL_S / element_s)))
    return max(1, min(count, MOST_PULL_BYTES // size)) if size else count


def _timed(iterator: Iterator[Any], count: int, seconds: float) -> Windows:
    return measure(lambda: next(iterator), seconds=seconds, units=count, window_s=WINDOW_S)


def bytes_of(element: Any) -> int | None:
    """Bytes of an element's tensors; None where one has no known size (ragged)."""
    sizes = [_tensor_bytes(leaf) for leaf in batches.leaves(element)]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _tensor_bytes(element: Any) -> int | None:
    if getattr(getattr(element, "dtype", None), "name", "") == "string":
        return _string_bytes(element)
    size = getattr(element, "nbytes", None)
    if size is None and hasattr(element, "numpy"):
        size = getattr(element.numpy(), "nbytes", None)
    return None if size is None else int(size)


def _string_bytes(element: Any) -> int | None:
    value = element.numpy()
    if isinstance(value, bytes):
        return len(value)
    return sum(len(one) for one in value.ravel().tolist())
