"""Every nanosecond of a step with an owner: at the ceiling, waste with a cause, or unexplained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fitdoctor.analysis.leaf import Leaf
from fitdoctor.analysis.leaves import leaves_of
from fitdoctor.analysis.view import View
from fitdoctor.diagnosis.breakdown import parts_with_contention
from fitdoctor.findings.account_row import AccountRow, State
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval

# A layer that is no kernel of the framework reaches this part of the machine's best rates, or more
# may be in it than meets the eye.
NEAR_CEILING = 0.1
# Parts in which savings on the loading of data are found, in this order.
LOADING = ("input_wait", "loader_contention", "epoch_gap")
# Work that the user asked for: a rule names it where there is too much of it, or it is a workload
# of its own.
ASKED_FOR = frozenset({"validation", "loop_inside"})
# A rest this small is not worth a row of its own.
NOTHING_NS = 1.0


def account_of(view: View, findings: Sequence[Finding]) -> tuple[AccountRow, ...]:
    """The leaves with their owners; they sum to the step."""
    leaves = list(leaves_of(view, parts_with_contention(view)))
    rows: list[AccountRow] = []
    for finding in findings:
        for part, ns in _saved(view, finding).items():
            rows += _taken(leaves, part, ns, finding)
    rows += [_row(leaf, None) for leaf in leaves]
    rows.sort(key=lambda row: -row.ns)
    return tuple(rows)


def unexplained(rows: Sequence[AccountRow]) -> float:
    """The share of the step that is neither at the ceiling nor explained."""
    total = sum(row.ns for row in rows)
    lost = sum(row.ns - (row.floor_ns or 0.0) for row in rows if row.state == "unexplained")
    return lost / total if total > 0 else 0.0


def _saved(view: View, finding: Finding) -> Mapping[str, float]:
    """What a cure takes from each part; of the whole step where the finding does not say."""
    if finding.saves:
        return {part: saved.value for part, saved in finding.saves.items()}
    total = view.costs.total.value
    return {"step": total * (1.0 - 1.0 / max(1.0, finding.gain.value))}


def _taken(leaves: list[Leaf], part: str, ns: float, finding: Finding) -> list[AccountRow]:
    """Take so much from the leaves of a part, those at the finding's place first."""
    parts = LOADING if part == "input_wait" else (part,)
    candidates = [leaf for one in parts for leaf in leaves if leaf.part == one]
    candidates.sort(key=lambda leaf: (not _is_at(leaf, finding.where), -leaf.ns))
    rows: list[AccountRow] = []
    for leaf in candidates:
        if ns < NOTHING_NS:
            break
        amount = min(ns, leaf.ns)
        ns -= amount
        index = next(n for n, one in enumerate(leaves) if one is leaf)
        rows.append(_row(replace(leaf, ns=amount, floor_ns=0.0), finding.rule))
        left = leaf.ns - amount
        if left < NOTHING_NS:
            rows[-1] = replace(rows[-1], ns=leaf.ns)
            del leaves[index]
        else:
            floor = None if leaf.floor_ns is None else min(left, leaf.floor_ns)
            leaves[index] = replace(leaf, ns=left, floor_ns=floor)
    return rows


def _is_at(leaf: Leaf, where: Where | None) -> bool:
    if leaf.where is None or where is None:
        return False
    return (leaf.where.file, leaf.where.line) == (where.file, where.line)


def _row(leaf: Leaf, owner: str | None) -> AccountRow:
    where = Where(leaf.where.file, leaf.where.line) if leaf.where is not None else None
    return AccountRow(
        leaf.part, leaf.what, leaf.ns, where, leaf.floor_ns, owner, _state(leaf, owner)
    )


def _state(leaf: Leaf, owner: str | None) -> State:
    if owner is not None:
        return "waste"
    if leaf.part in ASKED_FOR or leaf.is_kernel:
        return "ceiling"
    if leaf.floor_ns is None or leaf.ns <= 0:
        return "unexplained"
    return "ceiling" if leaf.floor_ns >= NEAR_CEILING * leaf.ns else "unexplained"


def as_bound(view: View, rows: Sequence[AccountRow]) -> Interval:
    """At most so much faster, if these cost nothing."""
    total = view.costs.total.value
    left = max(0.001 * total, total - sum(row.ns - (row.floor_ns or 0.0) for row in rows))
    return Interval(total / left, 1.0, total / left)
