"""A Python generator's own time, measured where it runs: it can be read only once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any


class TimedSource:
    """Wall and CPU time that a generator took per batch, on whatever thread pulled it."""

    def __init__(self) -> None:
        """Nothing pulled yet."""
        self.count = 0
        self.wall_ns = 0
        self.cpu_ns = 0

    def watch(self, iterable: Any) -> Iterator[Any]:
        """The same elements, timed."""
        iterator = iter(iterable)
        while True:
            wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
            try:
                element = next(iterator)
            except StopIteration:
                return
            self.wall_ns += time.perf_counter_ns() - wall
            self.cpu_ns += time.thread_time_ns() - cpu
            self.count += 1
            yield element


def timed_generator(adapter: Any) -> TimedSource | None:
    """Time the generator behind Keras's adapter; None for other kinds of data."""
    if type(adapter).__name__ != "GeneratorDataAdapter":
        return None
    source = TimedSource()
    original: Callable[[], Any] = adapter.generator
    # The adapter asks for its generator anew at each epoch, so an attribute is enough.
    adapter.generator = lambda: source.watch(original())
    return source
