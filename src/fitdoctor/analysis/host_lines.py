"""The lines that the script was at while a line of it trained, as shares of that time."""

from __future__ import annotations

from collections import Counter

from fitdoctor.contract.host_looks import HostPlace
from fitdoctor.contract.records import RecordedWorkload, Recording

# Fewer looks say too little.
MIN_LOOKS = 20
MOST_LINES = 8

HostLine = tuple[HostPlace, float]


def host_lines(recording: Recording, workload: RecordedWorkload) -> tuple[HostLine, ...]:
    """The user's lines while its calls ran, the most seen first; the line itself is left out."""
    spans = [(call.t, call.t + call.dur) for call in workload.calls]
    probes = [one for w in recording.workloads for one in w.probes.values() if one.dur]
    paused = [(one.t, one.t + one.dur) for one in probes]
    seen = [
        look.place
        for look in recording.looks
        if any(begin <= look.t < end for begin, end in spans)
        and not any(begin <= look.t < end for begin, end in paused)
    ]
    if len(seen) < MIN_LOOKS:
        return ()
    counts = Counter(seen)
    others = [
        (place, count / len(seen))
        for place, count in counts.most_common()
        if (place.file, place.line) != (workload.file, workload.line)
    ]
    return tuple(others[:MOST_LINES])
