"""A slow first epoch, stalls, single long steps: a line each."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.findings.diagnosed import DiagnosedWorkload
from fitdoctor.units import duration, times

# A part of the first epoch's excess below this share is not named.
NAMED_SHARE = 0.15


def over_time(workload: DiagnosedWorkload) -> Iterator[str]:
    """What was different over time; nothing where nothing was."""
    first = workload.first_epoch
    if first is not None:
        extra = first.ns - first.usual_ns
        parts = {
            "compiling": first.compile_ns,
            "waiting for the first batch": first.first_batch_ns,
            "slower input": first.input_ns,
            "unexplained": first.rest_ns,
        }
        named = [f"{duration(ns)} {name}" for name, ns in parts.items() if ns > NAMED_SHARE * extra]
        yield (
            f"first epoch: {duration(first.ns)}, later ones {duration(first.usual_ns)} "
            f"({', '.join(named)})"
        )
    waits = workload.iterator_waits
    if waits is not None and waits.count:
        yield (
            f"TensorFlow stalled {times(waits.count)} for {duration(waits.ns)} between epochs "
            "(not counted; `.repeat()` with `steps_per_epoch` avoids it)"
        )
    stalls = workload.stalls
    if stalls is not None:
        causes = ", ".join(f"{count} {cause}" for cause, count in stalls.causes.items())
        steps = f"{stalls.count} step{'s' if stalls.count != 1 else ''}"
        yield f"stalls: {steps} lost {duration(stalls.ns)} ({causes})"
