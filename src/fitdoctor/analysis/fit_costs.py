"""Costs of a fit or a hand-written loop, from the rows of its ledger."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.anomalies import iterator_waits
from fitdoctor.analysis.costs import CHECKPOINT_CALLBACKS, Costs, parts_that_sum
from fitdoctor.analysis.estimate import from_means, quantile
from fitdoctor.analysis.rows import Row, compile_events, rows_of
from fitdoctor.analysis.steady import warm_up_length
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

WINDOW_NS = 50_000_000  # shorter steps are judged in groups of at least this length
OTHERS_LIMIT_CORES = 0.10
MIN_CLEAN_ROWS = 10
# With fewer steps that compile nothing, steps are taken to compile always.
MIN_PLAIN_ROWS = 5
MIN_SINGLE_STEPS = 5
BESIDE = ("callbacks", "checkpoint", "compile")
# With so many whole epochs, each counts as one measurement.
MIN_EPOCHS = 3
WHOLE_EPOCH = 0.95
# Compiles in the first rows of the first call are the one-off every training pays.
ONE_OFF_ROWS = 3
MIN_RECURRING = 3
# Changes of epochs from which on the first can be told from the others.
ENOUGH_CHANGES = 3

# Calls of which the usual start can be told.
ENOUGH_STARTS = 4

# What marks the steps of a loop whose loader is not seen.
FUNCTION_MARKERS = ("tf.function", "jax.jit", "optimizer")


def fit_costs(workload: RecordedWorkload) -> Costs | None:
    """Costs per step, or None when no two steps followed each other."""
    rows = rows_of(workload)
    timed = [row for row in rows if row.period is not None] or _single_steps(rows)
    if not timed:
        return None
    clean, disturbed = _undisturbed(timed)
    plain = [row for row in clean if not row.compiled]
    always_compiles = len(plain) < MIN_PLAIN_ROWS and 2 * len(plain) < len(clean)
    if always_compiles:
        plain = clean
    steady = plain[warm_up_length([row.period / row.executions for row in plain if row.period]) :]
    core = _core(steady)
    if core is None:
        return None
    recurring = _recurring(rows)
    inside = _inside(workload, steady)
    if always_compiles and any(row.compiled for row in steady):
        inside = _split_compile(workload, steady, inside)
    steps = sum(row.executions for row in rows)
    # Compiles that are in the steps already are not counted beside them.
    extras = _extras(workload, rows, core.value, () if always_compiles else recurring)
    total = core + Interval.exact(sum(extras.values()))
    singles = _windows(steady)
    return Costs(
        steps=steps,
        steady_steps=sum(row.executions for row in steady),
        calls=len(workload.calls),
        core=core,
        total=total,
        parts=parts_that_sum(total.value, _together(inside, extras)),
        median_ns=statistics.median(singles),
        p10_ns=quantile(singles, 0.1),
        p90_ns=quantile(singles, 0.9),
        one_off_ns=_one_off(workload, rows),
        recurring_compiles=len(recurring),
        disturbed_share=disturbed,
        beside={name: inside[name] for name in BESIDE if inside.get(name)},
        first_waits=extras.get("input_wait_epoch", 0.0),
    )


def _single_steps(rows: Sequence[Row]) -> list[Row]:
    """Epochs of one step have no next step to measure to: the step ends where it ends.

    One such row is a fit of one step, of which nothing can be said.
    """
    if len(rows) < MIN_SINGLE_STEPS:
        return []
    return [
        replace(row, period=round(row.step + (row.wait or 0.0)) + row.callbacks) for row in rows
    ]


def _together(inside: dict[str, float], extras: dict[str, float]) -> dict[str, float]:
    """One part per name: callbacks at batches and at epochs are one part for the reader."""
    parts = dict(inside)
    for name, value in extras.items():
        plain = name.removesuffix("_epoch")
        parts[plain] = parts.get(plain, 0.0) + value
    return parts


def _undisturbed(rows: list[Row]) -> tuple[list[Row], float]:
    """The rows measured while others left the machine alone, if there are enough of them."""
    clean = [r for r in rows if r.others_cores is None or r.others_cores <= OTHERS_LIMIT_CORES]
    if len(clean) >= MIN_CLEAN_ROWS or len(clean) == len(rows):
        return clean, 0.0
    return rows, 1 - len(clean) / len(rows)


def _windows(rows: Sequence[Row]) -> list[float]:
    """Nanoseconds per step over groups of consecutive rows."""
    windows: list[float] = []
    time, steps = 0, 0
    for row in rows:
        time += row.period or 0
        steps += row.executions
        if time >= WINDOW_NS:
            windows.append(time / steps)
            time, steps = 0, 0
    return windows or ([time / steps] if steps else [])


def _core(rows: Sequence[Row]) -> Interval | None:
    """The mean, since rare long steps cost time too; its spread from stretches of the run."""
    stretches: list[tuple[float, float]] = []
    for part in _stretches(rows):
        steps = sum(row.executions for row in part)
        stretches.append((sum(row.period or 0 for row in part) / steps, steps))
    return from_means([mean for mean, _ in stretches], [weight for _, weight in stretches])


def _stretches(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Parts of the run that repeat each other: whole epochs where there are several.

    Every epoch begins with a wait, so that shorter parts would differ for a known reason.
    """
    epochs: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        epochs.setdefault((row.call, row.epoch), []).append(row)
    longest = max((len(part) for part in epochs.values()), default=0)
    whole: list[Sequence[Row]] = [p for p in epochs.values() if len(p) >= WHOLE_EPOCH * longest]
    if len(whole) >= MIN_EPOCHS:
        return whole
    size = max(1, len(rows) // 20)
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def _recurring(rows: Sequence[Row]) -> list[Row]:
    """Rows with a compile in them, other than the first ones of the training."""
    first_call = rows[0].call if rows else 0
    found = [
        row
        for index, row in enumerate(rows)
        if row.compiled and not (row.call == first_call and index < ONE_OFF_ROWS)
    ]
    # One or two are one-offs as well: a last, smaller batch is compiled once.
    return found if len(found) >= MIN_RECURRING else []


def _inside(workload: RecordedWorkload, rows: Sequence[Row]) -> dict[str, float]:
    steps = sum(row.executions for row in rows)
    parts = {"step": sum(row.step for row in rows) / steps}
    if any(row.wait is not None for row in rows):
        waited = _not_first(rows) if _waits_before_steps(workload) else rows
        count = sum(row.executions for row in waited)
        parts["input_wait"] = sum(row.wait or 0.0 for row in waited) / count if count else 0.0
    in_hooks = sum(row.callbacks for row in rows) / steps
    callbacks = min(in_hooks, _named_callbacks(workload))
    # Before the callbacks Keras reads the logs, which is where it waits for the device.
    parts["step"] += in_hooks - callbacks
    checkpoint = min(callbacks, _checkpoint(workload, "batch"))
    parts["callbacks"] = callbacks - checkpoint
    parts["checkpoint"] = checkpoint
    if workload.detail.get("marker") in FUNCTION_MARKERS:
        parts.update(_around_marker(workload, sum(row.period or 0 for row in rows) / steps, parts))
    # A wait of nothing was measured too; one that was not is not there.
    always = ("step", "input_wait")
    return {name: value for name, value in parts.items() if value > 0 or name in always}


def _around_marker(
    workload: RecordedWorkload, period: float, parts: dict[str, float]
) -> dict[str, float]:
    """What lies between two calls of what marks a loop's steps, as far as it was watched.

    An optimizer that marks the steps is only their end: forward and backward pass come before.
    """
    seen = loop_lines(workload)
    found: dict[str, float] = {}
    if seen is not None:
        found["input_wait"] = seen.loading * period
        if workload.detail.get("marker") == "optimizer":
            found["step"] = max(parts["step"], seen.step * period)
    known = sum({**parts, **found}.values())
    return {**found, "between_calls": max(0.0, period - known)}


def _split_compile(
    workload: RecordedWorkload, rows: Sequence[Row], inside: dict[str, float]
) -> dict[str, float]:
    """Nearly every step compiles: what it would take without is known from a repeated call or a
    frozen batch, or else from the compiles' own durations.
    """
    steps = sum(row.executions for row in rows)
    excess = sum(min(row.compiled, row.step) for row in rows) / steps
    plain = workload.result("repeat_call") or workload.result("frozen_batch")
    if plain and plain.get("ns"):
        excess = max(excess, inside["step"] - statistics.median(plain["ns"]))
    excess = min(excess, inside["step"])
    return {**inside, "step": inside["step"] - excess, "compile": excess}


def _named_callbacks(workload: RecordedWorkload) -> float:
    """Time inside the batch hooks of callback objects, per step."""
    steps = sum(row.steps for row in workload.calls) or 1
    return sum(total.ns for total in workload.callbacks if total.hook == "batch") / steps


def _checkpoint(workload: RecordedWorkload, hook: str) -> float:
    steps = sum(row.steps for row in workload.calls) or 1
    return (
        sum(
            total.ns
            for total in workload.callbacks
            if total.name in CHECKPOINT_CALLBACKS and total.hook == hook
        )
        / steps
    )


def _extras(
    workload: RecordedWorkload, rows: Sequence[Row], core: float, recurring: Sequence[Row]
) -> dict[str, float]:
    """What recurs outside the plain steps, spread over them."""
    steps = sum(row.executions for row in rows)
    extras = {"compile": _compile_excess(rows, recurring) / steps}
    if not workload.calls:
        return extras
    call_steps = sum(call.steps for call in workload.calls) or 1
    validations = _validations(workload)
    # The first pass is traced; the median of all passes is what each later one costs.
    typical = statistics.median(plain for plain, _ in validations) if validations else 0.0
    extras["validation"] = typical * len(validations) / call_steps
    again = [compiled for _, compiled in validations[1:] if compiled]
    if len(again) >= MIN_RECURRING:
        extras["compile"] += sum(again) / call_steps
    epoch_callbacks = sum(call.epoch_callbacks for call in workload.calls) / call_steps
    checkpoint = min(epoch_callbacks, _checkpoint(workload, "epoch"))
    extras["callbacks_epoch"] = epoch_callbacks - checkpoint
    extras["checkpoint_epoch"] = checkpoint
    later = workload.calls[1:]
    if later:
        starts = [float(call.start_up) for call in later if call.start_up is not None]
        extras["start_up"] = _usual_total(starts) / call_steps
    gap = max(0.0, _epoch_gap(workload, rows, core) - iterator_waits(workload).ns)
    waits = min(gap, _first_waits(rows)) if _waits_before_steps(workload) else 0.0
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
        in_rows = sum(
            (row.period if row.period is not None else row.step + row.callbacks)
            for row in rows
            if row.call == index
        )
        once = _first_change_excess(workload, [row for row in rows if row.call == index])
        gap += max(0.0, call.dur - explained - in_rows - once)
    return gap


def _first_change_excess(workload: RecordedWorkload, rows: Sequence[Row]) -> float:
    """How much longer a call's first change of epochs took than the later ones.

    What is compiled at the end of the first epoch (on JAX, the reading of metrics) does not recur:
    a run of many epochs pays it once, and a window of a few would spread it over all of them.
    """
    changes = [
        following.t - row.t - _told_apart(workload, row.t, following.t)
        for row, following in itertools.pairwise(rows)
        if row.epoch != following.epoch
    ]
    if len(changes) < ENOUGH_CHANGES:
        return 0.0
    return max(0.0, changes[0] - statistics.median(changes[1:]))


def _told_apart(workload: RecordedWorkload, begin: int, end: int) -> int:
    """Validation and TensorFlow's chance waits between two rows, which have parts of their own."""
    apart = (e for e in workload.events if e.name in ("validation", "iterator_wait"))
    return sum(event.dur for event in apart if begin <= event.t < end)


def _waits_before_steps(workload: RecordedWorkload) -> bool:
    """On torch, a batch is waited for before its step begins: an epoch's first, between epochs."""
    return workload.kind == "fit" and workload.detail.get("backend") == "torch"


def _not_first(rows: Sequence[Row]) -> list[Row]:
    """All but the first row of each epoch."""
    pairs = itertools.pairwise(rows)
    return [row for before, row in pairs if (before.call, before.epoch) == (row.call, row.epoch)]


def _first_waits(rows: Sequence[Row]) -> float:
    """The waits before the first steps of a call's later epochs; its first is its start-up."""
    pairs = itertools.pairwise(rows)
    return sum(
        row.wait or 0.0
        for before, row in pairs
        if before.call == row.call and before.epoch != row.epoch
    )


def _one_off(workload: RecordedWorkload, rows: Sequence[Row]) -> float:
    """Start-up of the first call and the compiles of the first steps."""
    start_up = workload.calls[0].start_up if workload.calls else None
    first = [row for row in rows[:ONE_OFF_ROWS] if row.compiled]
    plain = [row.step for row in rows if not row.compiled]
    usual = statistics.median(plain) if plain else 0.0
    return float(start_up or 0) + sum(max(0.0, row.step - usual) for row in first)
