"""CPU against GPU as text: the sentence, the table, the picture."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fitdoctor.devices.judgement import DeviceRun, Judgement
from fitdoctor.units import duration

BAR = 30


def devices_text(judgement: Judgement) -> str:
    """All that `fitdoctor devices` shows."""
    lines = [f"  {sentence(judgement)}", "", *_starts(judgement), *_sweep(judgement)]
    lines += [f"  {line}" for line in _limits(judgement)]
    lines += [f"  not measured: {reason}" for reason in judgement.reasons]
    return "\n".join(lines) + "\n"


def sentence(judgement: Judgement) -> str:
    """The verdict in one sentence."""
    ratio = judgement.ratio
    cpu, gpu = judgement.runs.get("cpu"), judgement.runs.get("gpu")
    if ratio is None or cpu is None or gpu is None:
        only = next(iter(judgement.runs.values()), None)
        if only is None:
            return "No device could be measured."
        step = only.pace.get(only.rows)
        took = f" One step at batch {only.rows} takes {duration(step.value)}." if step else ""
        return f"Only the {only.name.upper()} could be measured.{took}"
    at = f"at batch {cpu.rows}"
    if ratio.value < 1:
        slower = f"{1 / ratio.value:.1f}x slower{_range(1 / ratio.high, 1 / ratio.low)}"
        return f"Stay on the CPU: {at} the GPU is {slower}."
    if judgement.better == "cpu" and judgement.break_even is not None:
        return (
            f"Stay on the CPU for this run: the GPU is {ratio.value:.1f}x faster per step {at}, "
            f"but pays off after {judgement.break_even:,.0f} steps; your run has "
            f"{cpu.planned_steps:,} ({judgement.break_even * cpu.rows:,.0f} and "
            f"{cpu.planned_steps * cpu.rows:,} rows)."
        )
    after = ""
    if judgement.break_even:
        after = (
            f" Its longer start-up is paid back after {judgement.break_even:,.0f} steps "
            f"({judgement.break_even * cpu.rows:,.0f} rows)."
        )
    return (
        f"Use the GPU: {at} it is {ratio.value:.1f}x faster{_range(ratio.low, ratio.high)}.{after}"
    )


def _range(low: float, high: float) -> str:
    return f" ({low:.1f}–{high:.1f})"


def _starts(judgement: Judgement) -> Iterator[str]:
    known = [(run, run.start) for run in judgement.runs.values() if run.start is not None]
    if not known:
        return
    yield "  Start-up" + "".join(f"{run.name.upper():>14}" for run, _ in known)
    rows = (
        ("imports", [start.imports for _, start in known]),
        ("script", [start.script for _, start in known]),
        ("start of fit", [start.fit for _, start in known]),
        ("first step", [start.first_step for _, start in known]),
        ("all", [start.total for _, start in known]),
    )
    for name, values in rows:
        yield _row(name, [duration(ns) for ns in values])
    alone = [run.initialisation_ns for run, _ in known]
    if any(ns is not None for ns in alone):
        words = ["not measured" if ns is None else duration(ns) for ns in alone]
        yield _row("the device", words) + "  (timed alone; part of the above)"
    yield ""


def _row(name: str, words: list[str]) -> str:
    return f"    {name:<12}" + "".join(f"{word:>14}" for word in words).removeprefix("  ")


def _sweep(judgement: Judgement) -> Iterator[str]:
    runs = list(judgement.runs.values())
    sizes = sorted({size for run in runs for size in run.steps})
    if not sizes:
        return
    times = [ns.value for run in runs for ns in run.pace.values()]
    low, high = math.log(min(times)), math.log(max(times))
    yield "  Step against batch size (log scale)"
    for size in sizes:
        mark = "◀ yours" if any(run.rows == size for run in runs) else ""
        for index, run in enumerate(runs):
            step = run.pace.get(size)
            name = f"{size:>8}" if index == 0 else " " * 8
            if step is None:
                yield f"  {name}  {run.name}  not measured"
                continue
            share = (math.log(step.value) - low) / (high - low) if high > low else 1.0
            bar = ("█" if run.name == "cpu" else "▒") * max(1, round(share * BAR))
            text = f"  {name}  {run.name}  {duration(step.value):>9}  {bar}"
            yield f"{text}  {mark}" if mark and index == 0 else text
    yield ""


def _limits(judgement: Judgement) -> Iterator[str]:
    cross = judgement.crossover
    if cross is not None and cross.size is not None:
        bounds = f" ({_size(cross.low)}–{_size(cross.high)})"
        yield f"The GPU is faster from batch size {cross.size:,.0f} on{bounds}."
    elif cross is not None:
        yield f"The {str(cross.always).upper()} is faster at every batch size tried."
    for run in judgement.runs.values():
        yield from _memory(run)
        if run.name == "gpu" and run.transfer_ns is not None:
            yield (
                f"One batch ({run.batch_bytes / 1e6:.1f} MB) takes {duration(run.transfer_ns)} "
                "to the GPU."
            )


def _size(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _memory(run: DeviceRun) -> Iterator[str]:
    peak, whole = run.device.peak_bytes, run.device.memory_bytes
    if peak and whole and run.steps:
        yield (
            f"{run.device.name}: {peak / 2**30:.1f} of {whole / 2**30:.0f} GiB used at most, "
            f"up to batch {max(run.steps):,}."
        )
    if run.ended:
        yield f"{run.name.upper()}: the sweep ended {run.ended}."
