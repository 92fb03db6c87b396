"""The whole script, from its start to its end: which part of the time went where.

Imports, calls of Keras, hand-written loops, and the user's own code between them. Examinations are
ours, and are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.host_looks import HostLook
from fitdoctor.contract.places import CodeLine
from fitdoctor.contract.records import RecordedWorkload, Recording

Span = tuple[int, int]

# Lines of the user's own code with a smaller share of the whole are one row together.
NOTABLE_SHARE = 0.05
MOST_LINES = 3
OWN = "your own code"


@dataclass(frozen=True)
class Phase:
    """A part of the script's time."""

    what: str
    ns: int
    share: float
    where: CodeLine | None = None

    def to_json(self) -> dict[str, Any]:
        where = None if self.where is None else {"file": self.where.file, "line": self.where.line}
        return {"what": self.what, "ns": self.ns, "share": round(self.share, 4), "where": where}


def timeline(recording: Recording) -> tuple[Phase, ...]:
    """The phases, the longest first; they sum to the time that was seen. Empty without a start."""
    begin = next((event.t for event in recording.events if event.name == "start"), None)
    end = _end(recording)
    if begin is None or end is None or end <= begin:
        return ()
    left: list[Span] = [(begin, end)]
    probes = [one for w in recording.workloads for one in w.probes.values() if one.dur]
    left, _ = _taken(left, [(one.t, one.t + one.dur) for one in probes])
    total = sum(until - since for since, until in left)
    if not total:
        return ()
    found: list[Phase] = []
    outer = [w for w in recording.workloads if w.parent is None]
    for workload in sorted(outer, key=lambda one: one.t):
        left, ns = _taken(left, _spans(workload))
        if ns:
            place = (
                CodeLine(workload.file, workload.line) if workload.file and workload.line else None
            )
            found.append(Phase(workload.kind, ns, ns / total, place))
    imports = [(e.t, e.t + e.dur) for e in recording.events if e.name == "import"]
    left, ns = _taken(left, imports)
    if ns:
        found.append(Phase("imports", ns, ns / total))
    found += _own_code(recording.looks, left, total)
    return tuple(sorted(found, key=lambda one: -one.ns))


def _own_code(looks: Sequence[HostLook], left: Sequence[Span], total: int) -> list[Phase]:
    """What is left, by the lines that the script was at."""
    rest = sum(until - since for since, until in left)
    if not rest:
        return []
    inside = [one for one in looks if any(since <= one.t < until for since, until in left)]
    lines = Counter((one.place.file, one.place.line) for one in inside)
    found: list[Phase] = []
    for (file, line), count in lines.most_common(MOST_LINES):
        ns = round(rest * count / len(inside))
        if ns >= NOTABLE_SHARE * total:
            found.append(Phase(OWN, ns, ns / total, CodeLine(file, line)))
    others = rest - sum(one.ns for one in found)
    return [*found, Phase(OWN, others, others / total)] if others > 0 else found


def _spans(workload: RecordedWorkload) -> list[Span]:
    if workload.calls:
        return [(call.t, call.t + call.dur) for call in workload.calls]
    return [(one.t[0], one.t[-1] + one.step[-1]) for one in workload.blocks if one.t]


def _end(recording: Recording) -> int | None:
    ends = [until for w in recording.workloads for _, until in _spans(w)]
    ends += [one.t for one in recording.looks[-1:]]
    ends += [event.t + event.dur for event in recording.events]
    return max(ends, default=None)


def _taken(left: Sequence[Span], spans: Iterable[Span]) -> tuple[list[Span], int]:
    """What is left of some time without these spans, and how much they took of it."""
    free = list(left)
    before = sum(until - since for since, until in free)
    for begin, end in spans:
        free = [piece for since, until in free for piece in _cut(since, until, begin, end)]
    return free, before - sum(until - since for since, until in free)


def _cut(since: int, until: int, begin: int, end: int) -> list[Span]:
    if end <= since or begin >= until:
        return [(since, until)]
    pieces = [(since, min(until, begin)), (max(since, end), until)]
    return [(a, b) for a, b in pieces if b > a]
