"""Nominal against observed: each prediction judged by widths made without its own script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.scored_history import Scored
from fitdoctor.intervals import Interval
from fitdoctor.pricing.scores import ENOUGH, SCRIPT, half_width, widened

LEVELS = (0.5, 0.8, 0.9)
GROUPS: dict[str, Callable[[Scored], str]] = {
    "all": lambda one: "all",
    "how": lambda one: one.how or "not recorded",
    "backend": lambda one: one.backend,
    "rule": lambda one: one.rule,
}
Row = dict[str, Any]


def coverage(scored: Sequence[Scored], known: Sequence[Scored] | None = None) -> list[Row]:
    """A row per group: how many lay inside intervals of each nominal level.

    Args:
        scored: the predictions to judge.
        known: those that the widths are made from, instead of the same ones. Predictions of the
            same script, on any backend, are always left out.
    """
    base = scored if known is None else known
    inside = [_inside(one, base) for one in scored]
    shown = [_is_shown(one, base) for one in scored]
    rows = []
    for group, name_of in GROUPS.items():
        for name in sorted({name_of(one) for one in scored}):
            chosen = [i for i, one in enumerate(scored) if name_of(one) == name]
            row = _row(group, name, [scored[i] for i in chosen], [inside[i] for i in chosen])
            rows.append({**row, "inside_as_shown": _share([shown[i] for i in chosen])})
    return rows


def _inside(one: Scored, base: Sequence[Scored]) -> dict[float, bool | None]:
    others = [other for other in base if other.script != one.script]
    found: dict[float, bool | None] = {}
    for level in LEVELS:
        half = _half(one, others, level)
        found[level] = None if half is None else one.score <= half
    return found


def _is_shown(one: Scored, base: Sequence[Scored]) -> bool | None:
    """Whether the 90 % interval that would be shown holds it: never narrower than measured."""
    half = _half(one, [other for other in base if other.script != one.script], LEVELS[-1])
    if half is None or one.low is None or one.high is None:
        return None
    given = Interval(one.predicted, one.low, one.high)
    return widened(given, half, one.how).contains(one.proven)


def _half(one: Scored, others: Iterable[Scored], level: float) -> float | None:
    """As the package chooses a width: the rule's own, else that of all; kinds where recorded."""
    kinds = (one.how,) if one.how in (SCRIPT, "") else (one.how, "")
    alike = {kind: [o for o in others if _is_of(o, kind)] for kind in kinds}
    for rule in (one.rule, ""):
        for kind in kinds:
            scores = [o.score for o in alike[kind] if rule in ("", o.rule)]
            half = half_width(scores, level)
            if half is not None and (not rule or len(scores) >= ENOUGH):
                return half
    return None


def _is_of(other: Scored, kind: str) -> bool:
    return other.how == kind or (kind == "" and other.how != SCRIPT)


def _row(
    group: str, name: str, scored: Sequence[Scored], inside: Sequence[dict[float, bool | None]]
) -> Row:
    stated = [one.low <= one.proven <= one.high for one in scored if one.low and one.high]
    errors = sorted(abs(one.predicted / one.proven - 1) for one in scored)
    return {
        "group": group,
        "name": name,
        "cases": len(scored),
        "median_error": round(errors[len(errors) // 2], 3),
        "inside": {f"{level:.0%}": _share([one[level] for one in inside]) for level in LEVELS},
        "inside_as_stated": _share(stated),
    }


def _share(values: Sequence[bool | None]) -> float | None:
    """None where too few others are known to say anything."""
    known = [one for one in values if one is not None]
    return round(sum(known) / len(known), 3) if known else None
