"""What recurs outside the plain steps of a fit: validation, epoch changes, starts, recompiles."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from fitdoctor.analysis.anomalies import iterator_waits
from fitdoctor.analysis.costs import CHECKPOINT_CALLBACKS
from fitdoctor.analysis.rows import Row, compile_events
from fitdoctor.contract.records import CallbackTotal, RecordedWorkload

# One or two compiles are one-offs: a last, smaller batch is compiled once.
MIN_RECURRING = 3
# Changes of epochs from which on the first can be told from the others.
ENOUGH_CHANGES = 3
# Calls of which the usual start can be told.
ENOUGH_STARTS = 4


def recurring_extras(
    workload: RecordedWorkload, rows: Sequence[Row], core: float, recurring: Sequence[Row]
) -> dict[str, float]:
    """What recurs outside the plain steps, spread over them."""
    steps = sum(row.executions for row in rows)
    extras = {"compile": _compile_excess(rows, recurring) / steps}
    if workload.kind == "loop" and any(row.period is not None for row in rows):
        # What else lies between two passes over a loader is code of the user's, or evaluation.
        extras["input_wait_epoch"] = _first_waits(rows) / steps
    if not workload.calls:
        return {name: value for name, value in extras.items() if value > 0}
    call_steps = sum(call.steps for call in workload.calls) or 1
    validations = _validations(workload)
    # The first pass is traced; the median of all passes is what each later one costs.
    typical = statistics.median(plain for plain, _ in validations) if validations else 0.0
    extras["validation"] = typical * len(validations) / call_steps
    again = [compiled for _, compiled in validations[1:] if compiled]
    if len(again) >= MIN_RECURRING:
        extras["compile"] += sum(again) / call_steps
    epoch_callbacks = sum(call.epoch_callbacks for call in workload.calls) / call_steps
    checkpoint = min(epoch_callbacks, checkpoint_ns(workload, "epoch"))
    extras["callbacks_epoch"] = epoch_callbacks - checkpoint
    extras["checkpoint_epoch"] = checkpoint
    starts = [float(one.start_up) for one in workload.calls[1:] if one.start_up is not None]
    extras["start_up"] = _usual_total(starts) / call_steps
    gap = max(0.0, _epoch_gap(workload, rows, core) - iterator_waits(workload).ns)
    waits = min(gap, _first_waits(rows)) if waits_before_steps(workload) else 0.0
    extras["input_wait_epoch"] = waits / call_steps
    extras["epoch_gap"] = (gap - waits) / call_steps
    return {name: value for name, value in extras.items() if value > 0}


def _usual_total(starts: list[float]) -> float:
    """What the later calls' starts take, each as long as is usual.

    The second call still takes memory that the first one has not given back yet, and is several
    times as long; of few calls such a one would be most.
    """
    if len(starts) < ENOUGH_STARTS:
        return sum(starts)
    return statistics.median(starts) * len(starts)


def _validations(workload: RecordedWorkload) -> list[tuple[float, float]]:
    """Each pass in nanoseconds: without the tracing and compiling inside it, and that."""
    compiles = compile_events(workload)
    found = []
    for event in workload.events:
        if event.name == "validation":
            inside = (c.dur for c in compiles if event.t <= c.t < event.t + event.dur)
            compiled = min(float(event.dur), float(sum(inside)))
            found.append((event.dur - compiled, compiled))
    return found


def _compile_excess(rows: Sequence[Row], recurring: Sequence[Row]) -> float:
    """How much longer the rows with a compile took than those without."""
    plain = [row.step / row.executions for row in rows if not row.compiled]
    if not plain:
        return 0.0
    usual = statistics.median(plain)
    return sum(max(0.0, row.step - usual * row.executions) for row in recurring)


def _epoch_gap(workload: RecordedWorkload, rows: Sequence[Row], core: float) -> float:
    """Time inside the calls that neither steps, validation, callbacks nor start-up explain."""
    gap = 0.0
    for index, call in enumerate(workload.calls):
        if call.epochs < 2 and len(workload.calls) < 2:
            return 0.0
        explained = call.validation + call.epoch_callbacks + (call.start_up or 0)
        own = [row for row in rows if row.call == index]
        in_rows = sum(row.taken for row in own)
        gap += max(0.0, call.dur - explained - in_rows - _first_change_excess(workload, own))
    return gap


def _first_change_excess(workload: RecordedWorkload, rows: Sequence[Row]) -> float:
    """How much longer a call's first change of epochs took than the later ones.

    What is compiled at the end of the first epoch (on JAX, the reading of metrics) does not recur:
    a run of many epochs pays it once, and a window of a few would spread it over all of them.
    """
    changes = [
        following.t - row.t - _counted_elsewhere(workload, row.t, following.t)
        for row, following in itertools.pairwise(rows)
        if row.epoch != following.epoch
    ]
    if len(changes) < ENOUGH_CHANGES:
        return 0.0
    return max(0.0, changes[0] - statistics.median(changes[1:]))


def _counted_elsewhere(workload: RecordedWorkload, begin: int, end: int) -> int:
    """Validation and TensorFlow's stalls between two rows, which have parts of their own."""
    apart = (e for e in workload.events if e.name in ("validation", "iterator_wait"))
    return sum(event.dur for event in apart if begin <= event.t < end)


def _first_waits(rows: Sequence[Row]) -> float:
    """The waits before the first steps of later epochs; the very first is start-up."""
    pairs = [two for two in itertools.pairwise(rows) if two[0].call == two[1].call]
    return sum(row.wait or 0.0 for before, row in pairs if before.epoch != row.epoch)


def checkpoint_ns(workload: RecordedWorkload, hook: str) -> float:
    """What saving the model takes per step, in hooks of one kind."""
    savers = [one for one in workload.callbacks if one.name in CHECKPOINT_CALLBACKS]
    return hooks_ns(workload, savers, hook)


def hooks_ns(workload: RecordedWorkload, callbacks: Sequence[CallbackTotal], hook: str) -> float:
    """Time inside hooks of one kind, per step."""
    steps = sum(row.steps for row in workload.calls) or 1
    return sum(one.ns for one in callbacks if one.hook == hook) / steps


def waits_before_steps(workload: RecordedWorkload) -> bool:
    """On torch, a batch is waited for before its step begins: an epoch's first, between epochs."""
    return workload.kind == "fit" and workload.detail.backend == "torch"
