"""Seconds of a piece of work, and of all ways to do it in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.articles.claim import Variant
from benchmarks.articles.neighbours import Neighbours

# Cores that others may use in a round that counts as quiet.
QUIET = 0.2
MOST = 3


def timed(work: Callable[[], Any]) -> Variant:
    """A variant that counts all of its work."""

    def variant() -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    return variant


def read(data: Iterable[Any], per: int = 1) -> Variant:
    """A variant that reads a dataset from its beginning to its end.

    The return of the iterator is not counted: TensorFlow waits there for a thread by chance.
    """
    kept: list[Any] = []

    def variant() -> float:
        begin = time.perf_counter()
        iterator = iter(data)
        for _ in iterator:
            pass
        seconds = (time.perf_counter() - begin) / per
        kept[:] = [iterator]
        return seconds

    return variant


def fit(model: Any, *data: Any, epochs: int = 2, **arguments: Any) -> Variant:
    """A variant that counts the last epoch of a fit, from its first step to its end.

    Before the first step TensorFlow may wait for a thread of the last epoch's pipeline.
    """
    import keras

    class Clock(keras.callbacks.Callback):  # type: ignore[misc]
        async_safe = True

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begin = 0.0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.begin = self.begin or time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.seconds = time.perf_counter() - self.begin

    def variant() -> float:
        clock = Clock()
        callbacks = [*arguments.get("callbacks", ()), clock]
        others = {key: value for key, value in arguments.items() if key != "callbacks"}
        model.fit(*data, epochs=epochs, verbose=0, callbacks=callbacks, **others)
        return float(clock.seconds)

    return variant


def called(model: Any, make: Callable[[], tuple[Any, ...]], **arguments: Any) -> Variant:
    """A variant that counts a whole `fit`, from the call to the end of its last epoch.

    What follows is TensorFlow's wait for a thread, which comes by chance.
    """
    import keras

    class End(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.moment = time.perf_counter()

    def variant() -> float:
        end = End()
        begin = time.perf_counter()
        model.fit(*make(), verbose=0, callbacks=[end], **arguments)
        return float(end.moment) - begin

    return variant


def in_turn(
    variants: dict[str, Variant], rounds: int, neighbours: Callable[[], Any] = Neighbours
) -> tuple[dict[str, list[float]], float]:
    """Seconds of every variant, round by round, and the cores that others used meanwhile.

    One round is not counted; after that, rounds go on until enough were quiet, or for three
    times as many: then the least disturbed ones count.
    """
    for variant in variants.values():
        variant()
    seen: list[tuple[float, int, dict[str, float]]] = []
    while len(seen) < MOST * rounds and sum(one[0] <= QUIET for one in seen) < rounds:
        names = list(variants) if len(seen) % 2 == 0 else list(variants)[::-1]
        others = neighbours()
        times = {name: variants[name]() for name in names}
        seen.append((others.cores(), len(seen), times))
    kept = sorted(seen)[:rounds]
    seconds = {name: [times[name] for _, _, times in kept] for name in variants}
    return seconds, statistics.median(cores for cores, _, _ in kept)


def speeds(seconds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """How many times as fast as the first way: the median of the rounds and their range."""
    base = next(iter(seconds.values()))
    found = {}
    for name, values in list(seconds.items())[1:]:
        ratios = [one / other for one, other in zip(base, values, strict=True)]
        found[name] = {
            "ratio": statistics.median(ratios),
            "low": min(ratios),
            "high": max(ratios),
        }
    return found
