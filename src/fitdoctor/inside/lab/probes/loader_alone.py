"""Loader alone: how fast the user's data comes when nothing else is done with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from fitdoctor.contract.evidence.loading import LoaderAlone
from fitdoctor.inside.lab.apparatus.stacks import StackSampler, in_user_code
from fitdoctor.inside.lab.apparatus.windows import MIN_WINDOWS, WINDOW_S, Windows, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.ledger.cpu import CpuWatch
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.inputs.loop_source import fresh_loop_source
from fitdoctor.inside.seams.inputs.second_reader import EndlessLoader

SECONDS = 1.5
SAMPLED_SECONDS = 1.2
# A loader slower than this is timed batch by batch, and for longer.
SLOW_BATCH_S = 0.3
# Windows that differ by more than this are not enough of them.
VARIES = 3.0
LONGER = 2.0
# Elements that an iterator must still give to be judged by them.
FEWEST_ELEMENTS = 5


def loader_alone(
    fresh: Callable[[], Iterator[Any]],
    *,
    seconds: float = SECONDS,
    sampled_seconds: float = SAMPLED_SECONDS,
) -> LoaderAlone:
    """Batches per second without a model, CPU use, and the user's lines that ran meanwhile."""
    others = in_user_code()
    loader = EndlessLoader(fresh)
    try:
        begin = time.perf_counter()
        first = next(loader)
        first_s = time.perf_counter() - begin
        windows = _timed(loader, seconds)
        if _varies(windows):
            # Threads that fight for a lock come in bursts: see more of them.
            windows = _timed(loader, LONGER * seconds)
        with StackSampler(ignoring=others) as sampler:
            _timed(loader, sampled_seconds)
    finally:
        loader.close()
    return LoaderAlone(
        **windows.fields(),
        first_batch_ns=int(first_s * 1e9),
        passes=loader.passes,
        stacks=sampler.result(),
        shapes=tuple(batches.describe(first)),
        bytes=_bytes(first),
    )


def rest_alone(
    rest: Iterator[Any], *, seconds: float = SECONDS, sampled_seconds: float = SAMPLED_SECONDS
) -> LoaderAlone:
    """As `loader_alone`, of an iterator that can only be read on, and may end soon."""
    windows, first = Windows(), None
    with StackSampler(ignoring=in_user_code()) as sampler:
        begin = time.perf_counter()
        for elements in _in_windows(rest, windows):
            first = elements if first is None else first
            if time.perf_counter() - begin > seconds + sampled_seconds:
                break
    if windows.units < FEWEST_ELEMENTS:
        raise NotAvailable("the data ended before enough of it was read alone")
    return LoaderAlone(
        **windows.fields(),
        first_batch_ns=0,
        passes=1,
        stacks=sampler.result(),
        shapes=tuple(batches.describe(first)),
        bytes=_bytes(first),
    )


def _in_windows(rest: Iterator[Any], windows: Windows) -> Iterator[Any]:
    """Read on, window by window; gives the last element of each."""
    element: Any = None
    while True:
        watch, begin, count = CpuWatch(), time.perf_counter(), 0
        while time.perf_counter() - begin < WINDOW_S:
            try:
                element = next(rest)
            except StopIteration:
                return
            count += 1
        use = watch.stop()
        windows.ns.append(use.wall_ns / count)
        windows.cpu.append(use)
        windows.units += count
        yield element


def _timed(loader: EndlessLoader, seconds: float) -> Windows:
    begin = time.perf_counter()
    next(loader)
    if time.perf_counter() - begin > SLOW_BATCH_S:
        seconds = max(seconds, MIN_WINDOWS * (time.perf_counter() - begin))
    return measure(lambda: next(loader), seconds=seconds)


def _varies(windows: Windows) -> bool:
    return max(windows.ns) > VARIES * min(windows.ns)


def _bytes(batch: Any) -> int | None:
    """Bytes of one batch, where every leaf has a known size."""
    sizes: list[Any] = [getattr(leaf, "nbytes", None) for leaf in batches.leaves(batch)]
    return None if None in sizes else sum(map(int, sizes))


class ReadAlone(Probe[LoaderAlone]):
    phase = Phase.LOADING
    subjects = frozenset({Subject.FIT, Subject.LOOP})

    def wanted(self, context: Context) -> bool:
        """Where the frozen step does not explain the real one, or is not known yet.

        Beside an eager step always: beside a compiled one, which is far shorter, loading may
        matter.
        """
        return context.input_matters or context.is_eager

    def run(self, context: Context) -> LoaderAlone:
        loop = context.loop
        if loop is not None and context.live_source is not None:
            return rest_alone(context.live_source.iterator())
        if loop is not None:
            return loader_alone(lambda: fresh_loop_source(loop))
        return loader_alone(lambda: context.backend.fresh_loader(context.fit))
