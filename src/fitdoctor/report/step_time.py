"""Where the time of one step goes, as numbers and bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fitdoctor.analysis.device_use import DeviceUse
from fitdoctor.analysis.step_rows import StepRow
from fitdoctor.findings.diagnosed import Ceiling, DiagnosedWorkload, Part, StepTime
from fitdoctor.report.text import clean
from fitdoctor.units import duration, gain, percent

BAR_WIDTH = 24
# A ceiling this far away is worth a word even where its interval reaches down to one.
MAY_MATTER = 1.1
MOST_LAYERS = 6
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")

PART_WORDS = {
    "input_wait": "waiting for data",
    "step": "training step",
    "loader_contention": "loader contention",
    "callbacks": "callbacks",
    "validation": "validation",
    "checkpoint": "checkpoint",
    "compile": "tracing and compiling",
    "epoch_gap": "between epochs",
    "start_up": "start-up of each call",
    "between_calls": "your code between calls",
    "loop_inside": "a loop inside, or in turn",
    "metrics": "metrics",
    "unknown": "unknown",
}
_PART_STYLES = {"step": "green", "unknown": "dim"}


def step_time(
    workload: DiagnosedWorkload, label: str, *, verbose: bool = False
) -> Iterator[RenderableType]:
    """The typical step, its parts, and what it would take with all input cured."""
    yield Padding(_typical(workload, label), (0, 0, 0, 2))
    # Half a per cent is the smallest share that the percentages can show.
    parts = [part for part in workload.breakdown if verbose or not part.share < 0.005]
    if parts:
        yield Padding(_bars(parts), (0, 0, 0, 4))
    if (ceiling := workload.ceiling) is not None:
        yield Padding(Text(ceiling_sentence(workload, ceiling)), (0, 0, 0, 2))
    if workload.device is not None:
        yield Padding(Text(device_sentence(workload.device)), (0, 0, 0, 2))
    if verbose and workload.step_rows:
        yield Padding(Text("With data in memory, a step is:"), (0, 0, 0, 2))
        yield Padding(_rows(workload.step_rows), (0, 0, 0, 4))


BOUND_WORDS = {
    "launch": "launch-bound inside the step",
    "host": "waits for the host",
    "copy": "copy-bound",
    "memory": "memory-bound",
    "compute": "compute-bound",
}


def device_sentence(device: DeviceUse) -> str:
    """One line on the GPU: how busy, with what, and at what part of the machine's rate."""
    words = (
        f"GPU: busy {percent(device.busy_share)} of a step ({device.kernels:,.0f} kernels, "
        f"{duration(device.compute_ns)}; {duration(device.idle_ns)} idle)"
    )
    if device.bound is not None:
        words += f", {BOUND_WORDS[device.bound]}"
    rate, utilisation = device.rate, device.utilisation
    if rate is None or utilisation is None:
        return words
    peak = f"{rate.flops_per_s / 1e12:.3g} TFLOP/s of {rate.dtype}"
    return f"{words}; MFU {percent(utilisation)} of {peak} measured here"


def _typical(workload: DiagnosedWorkload, label: str) -> Text:
    step, cost = workload.step, workload.cost_ns
    if step is None or cost is None:
        return Text(f"The time of one step of {label} was not measured: no steady state.")
    text = f"One step of {label} takes {time_text(cost)}"
    return Text.assemble(text, (f" (p10–p90: {spread_text(step)})", "dim"))


def ceiling_sentence(workload: DiagnosedWorkload, ceiling: Ceiling) -> str:
    """What curing all input could give; the time is the one that the gain belongs to.

    The step on one kept batch alone may be shorter: what is done between epochs, or by callbacks,
    stays.
    """
    cost = workload.cost_ns
    ns = ceiling.step_ns if cost is None else cost / ceiling.gain.value
    return f"With its data in memory a step takes {time_text(ns)}, {ceiling_words(ceiling)}."


def ceiling_words(ceiling: Ceiling) -> str:
    """How much faster that is; an interval around one may hide a lot, or nothing."""
    if ceiling.gain.low > 1.0:
        return f"{gain(ceiling.gain)} faster"
    if ceiling.gain.value < MAY_MATTER:
        return "no faster"
    return f"perhaps faster, too noisy to say: {gain(ceiling.gain)}"


def _table() -> Table:
    """A name, a time and a share per row."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    return table


def _bars(parts: list[Part]) -> Table:
    table = _table()
    table.add_column(no_wrap=True)
    for part in parts:
        table.add_row(
            Text(PART_WORDS.get(part.part, clean(part.part))),
            Text(time_text(part.ns_per_step)),
            Text(percent(part.share)),
            Text(bar(part.share), style=_PART_STYLES.get(part.part, "yellow")),
        )
    return table


def _rows(rows: tuple[StepRow, ...]) -> Table:
    """The costliest layers, the optimizer and the rest; small layers are left to the page."""
    table = _table()
    shown, more, others = costliest(rows, MOST_LAYERS)
    for row in (*shown, *others, *more):
        name = f"{clean(row.name)} ({clean(row.type)})" if row.type else row.name
        table.add_row(Text(name), Text(time_text(row.ns)), Text(percent(row.share)))
    return table


def costliest(rows: Sequence[StepRow], most: int) -> tuple[Sequence[StepRow], ...]:
    """The costliest layers, one row for all smaller ones if there are any, and what is no layer."""
    layers = [row for row in rows if row.type]
    more = layers[most:]
    ns, share = sum(row.ns for row in more), sum(row.share for row in more)
    together = [StepRow(f"{len(more)} more layers", "", ns, share)] if more else []
    return layers[:most], together, [row for row in rows if not row.type]


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A bar of eighths of a character.

    Example:
        >>> bar(0.5, 4), bar(0.03, 4), bar(7.0, 4)
        ('██', '', '████')
    """
    if not math.isfinite(share):
        return ""
    eighths = min(max(int(share * width * 8), 0), width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]


def spread_text(step: StepTime) -> str:
    """From p10 to p90; a unit that both share is written once.

    Example:
        >>> spread_text(StepTime(15e6, 8.76e6, 34.6e6)), spread_text(StepTime(1e6, 9e5, 2e6))
        ('8.76–34.6 ms', '900 µs–2.00 ms')
    """
    low, high = time_text(step.p10_ns), time_text(step.p90_ns)
    same_unit = low.split(" ")[1:] == high.split(" ")[1:]
    return f"{low.split(' ')[0] if same_unit else low}–{high}"


def time_text(ns: float) -> str:
    """A time, or the words for one that is not known."""
    return duration(ns) if math.isfinite(ns) else "not measured"
