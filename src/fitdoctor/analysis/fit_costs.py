"""Costs of a fit or a hand-written loop, from the rows of its ledger."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.around_steps import (
    MIN_RECURRING,
    checkpoint_ns,
    hooks_ns,
    recurring_extras,
    waits_before_steps,
)
from fitdoctor.analysis.costs import Costs, parts_that_sum
from fitdoctor.analysis.estimate import from_means, quantile
from fitdoctor.analysis.loop_parts import OWN_CODE, loop_parts
from fitdoctor.analysis.rows import Row, by_epoch, rows_of
from fitdoctor.analysis.steady import warm_up_length
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.limits import OTHERS_LIMIT_CORES
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

WINDOW_NS = 50_000_000  # shorter steps are judged in groups of at least this length
MIN_CLEAN_ROWS = 10
# With fewer steps that compile nothing, steps are taken to compile always.
MIN_PLAIN_ROWS = 5
MIN_SINGLE_STEPS = 5
BESIDE = ("callbacks", "checkpoint", "compile", OWN_CODE)
# With so many whole epochs, each counts as one measurement.
MIN_EPOCHS = 3
WHOLE_EPOCH = 0.95
# Compiles in the first rows of the first call are the one-off every training pays.
ONE_OFF_ROWS = 3


# What marks the steps of a loop whose loader is not seen.
FUNCTION_MARKERS = ("tf.function", "jax.jit", "optimizer", "gradient")


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
    extras = recurring_extras(workload, rows, core.value, () if always_compiles else recurring)
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
    epochs = by_epoch(rows).values()
    longest = max((len(part) for part in epochs), default=0)
    whole: list[Sequence[Row]] = [part for part in epochs if len(part) >= WHOLE_EPOCH * longest]
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
        waited = _not_first(rows) if waits_before_steps(workload) else rows
        count = sum(row.executions for row in waited)
        parts["input_wait"] = sum(row.wait or 0.0 for row in waited) / count if count else 0.0
    in_hooks = sum(row.callbacks for row in rows) / steps
    callbacks = min(in_hooks, hooks_ns(workload, workload.callbacks, "batch"))
    # Before the callbacks Keras reads the logs, which is where it waits for the device.
    parts["step"] += in_hooks - callbacks
    checkpoint = min(callbacks, checkpoint_ns(workload, "batch"))
    parts["callbacks"] = callbacks - checkpoint
    parts["checkpoint"] = checkpoint
    if workload.kind == "loop":
        period = sum(row.period or 0 for row in rows) / steps
        is_marked = workload.detail.marker in FUNCTION_MARKERS
        parts = loop_parts(
            period,
            loop_lines(workload),
            waited=parts.get("input_wait"),
            timed=parts["step"],
            is_whole_body=not is_marked,
        )
    # A wait of nothing was measured too; one that was not is not there.
    always = ("step", "input_wait")
    return {name: value for name, value in parts.items() if value > 0 or name in always}


def _split_compile(
    workload: RecordedWorkload, rows: Sequence[Row], inside: dict[str, float]
) -> dict[str, float]:
    """Nearly every step compiles: what it would take without is known from a repeated call or a
    frozen batch, or else from the compiles' own durations.
    """
    steps = sum(row.executions for row in rows)
    excess = sum(min(row.compiled, row.step) for row in rows) / steps
    plain = workload.found(RepeatedCall) or workload.found(FrozenBatch)
    if plain is not None and plain.ns:
        excess = max(excess, inside["step"] - statistics.median(plain.ns))
    excess = min(excess, inside["step"])
    return {**inside, "step": inside["step"] - excess, "compile": excess}


def _not_first(rows: Sequence[Row]) -> list[Row]:
    """All but the first row of each epoch."""
    pairs = itertools.pairwise(rows)
    return [row for before, row in pairs if (before.call, before.epoch) == (row.call, row.epoch)]


def _one_off(workload: RecordedWorkload, rows: Sequence[Row]) -> float:
    """Start-up of the first call and the compiles of the first steps."""
    start_up = workload.calls[0].start_up if workload.calls else None
    first = [row for row in rows[:ONE_OFF_ROWS] if row.compiled]
    plain = [row.step for row in rows if not row.compiled]
    usual = statistics.median(plain) if plain else 0.0
    return float(start_up or 0) + sum(max(0.0, row.step - usual) for row in first)
