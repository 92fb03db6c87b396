"""The ledger's rows in order, each with its period and whether something was compiled in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from fitdoctor.contract.records import Event, RecordedWorkload, StepBlock

COMPILING = ("trace", "compile")


@dataclass(frozen=True)
class Row:
    """One execution of the step function; nanoseconds, for all of its steps together."""

    t: int
    period: int | None  # to the next row of the same epoch; None for the last one
    step: float  # in the step function, without the wait inside it
    wait: float | None
    callbacks: int
    executions: int
    call: int
    epoch: int
    others_cores: float | None
    compiled: int  # nanoseconds of tracing and compiling that fell into it

    @property
    def taken(self) -> float:
        """To the next row; of an epoch's last one, what was seen of it."""
        return self.period if self.period is not None else self.step + self.callbacks


def rows_of(workload: RecordedWorkload) -> list[Row]:
    """All rows of a workload, oldest first."""
    compiles = sorted((event.t, event.dur) for event in compile_events(workload))
    following = [*workload.blocks[1:], None]
    blocks = zip(workload.blocks, following, strict=False)
    return [row for block, after in blocks for row in _block_rows(block, after, compiles)]


def _block_rows(
    block: StepBlock, following: StepBlock | None, compiles: list[tuple[int, int]]
) -> list[Row]:
    rows = []
    graph_wait = block.graph_wait / len(block.t) if block.graph_wait is not None else None
    for i, t in enumerate(block.t):
        following_t = block.t[i + 1] if i + 1 < len(block.t) else _continues(block, following)
        wait = graph_wait if graph_wait is not None else block.wait[i]
        step = block.step[i]
        inside = min(graph_wait, step) if graph_wait is not None else 0.0
        rows.append(
            Row(
                t=t,
                period=following_t - t if following_t is not None else None,
                step=step - inside,
                wait=wait,
                callbacks=block.callbacks[i],
                executions=block.executions,
                call=block.call,
                epoch=block.epoch,
                others_cores=block.others_cores,
                compiled=_compiled_within(compiles, t, t + step),
            )
        )
    return rows


def _continues(block: StepBlock, following: StepBlock | None) -> int | None:
    """Begin of the next block's first row, if it belongs to the same stretch of training."""
    if following is None or following.after_pause or not following.t:
        return None
    same = (following.call, following.epoch) == (block.call, block.epoch)
    return following.t[0] if same else None


def _compiled_within(compiles: list[tuple[int, int]], begin: int, end: int) -> int:
    first, beyond = bisect_left(compiles, (begin, 0)), bisect_left(compiles, (end + 1, 0))
    return sum(duration for _, duration in compiles[first:beyond])


def by_epoch(rows: Iterable[Row]) -> dict[tuple[int, int], list[Row]]:
    """The rows of each epoch, by its call and its number."""
    epochs: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        epochs.setdefault((row.call, row.epoch), []).append(row)
    return epochs


def compile_events(workload: RecordedWorkload) -> list[Event]:
    """Traces and compilations of a workload."""
    return [event for event in workload.events if event.name in COMPILING]
