"""From the start of the script to its second step: where that time goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fitdoctor.analysis.rows import rows_of
from fitdoctor.contract.records import Recording


@dataclass(frozen=True)
class StartUp:
    """Nanoseconds before training is under way; the parts follow each other."""

    imports: int
    by_module: dict[str, int]  # modules import each other, so these overlap
    script: int  # the script's own work before it trains: data, model
    fit: int  # from the call of fit to its first step
    first_step: int  # tracing and compiling included

    @property
    def total(self) -> int:
        return self.imports + self.script + self.fit + self.first_step

    def to_json(self) -> dict[str, object]:
        return {
            "imports_ns": self.imports,
            "by_module_ns": self.by_module,
            "script_ns": self.script,
            "fit_ns": self.fit,
            "first_step_ns": self.first_step,
            "total_ns": self.total,
        }


def start_up(recording: Recording) -> StartUp | None:
    """The start of the script, or None where its beginning or its training was not seen."""
    begin = process_start_ns(recording)
    fits = [w for w in recording.workloads if w.calls and w.parent is None and w.kind == "fit"]
    if begin is None or not fits:
        return None
    first = min(fits, key=lambda workload: workload.calls[0].t)
    call, rows = first.calls[0], rows_of(first)
    if not rows or call.start_up is None:
        return None
    events = [event for event in recording.events if event.name == "import"]
    imports = covered((e.t, e.t + e.dur) for e in events if e.t < call.t)
    return StartUp(
        imports=imports,
        by_module={event.detail.module or "": event.dur for event in events},
        script=max(0, call.t - begin - imports),
        fit=call.start_up,
        first_step=round(rows[0].step + (rows[0].wait or 0.0)),
    )


def process_start_ns(recording: Recording) -> int | None:
    """When the script's process began, as soon as it could be seen."""
    return next((event.t for event in recording.events if event.name == "start"), None)


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """The length that spans cover together, where some lie inside others."""
    total = 0
    end: int | None = None
    for begin, stop in sorted(spans):
        fresh = begin if end is None else max(begin, end)
        total += max(0, stop - fresh)
        end = max(stop, fresh)
    return total
