"""What lies beside the training step, divided: pipeline stages, lines of the user's, callbacks."""

from __future__ import annotations

from collections.abc import Iterable

from fitdoctor.analysis.leaf import Leaf
from fitdoctor.analysis.loop_parts import OWN_CODE
from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.places import CodeLine


def input_leaves(view: View, ns: float) -> list[Leaf]:
    """The stages of a pipeline, or the lines that make the data."""
    stages = [one for one in view.stages if one.own_ns]
    whole = sum(one.own_ns or 0.0 for one in stages)
    if stages and whole > 0:
        return [
            Leaf(
                "input_wait",
                f"stage {one.op}",
                ns * (one.own_ns or 0.0) / whole,
                CodeLine(one.file, one.line) if one.file and one.line else None,
                0.0,
            )
            for one in stages
        ]
    watched = loop_lines(view.recorded)
    if watched is not None:
        return _lines("input_wait", ns, watched.lines("loading"))
    loader = view.loader
    if loader is not None and loader.hot_line is not None:
        file, line, function = loader.hot_line
        return [Leaf("input_wait", function, ns, CodeLine(file, line), 0.0)]
    return []


def own_code_leaves(view: View, ns: float) -> list[Leaf]:
    watched = loop_lines(view.recorded)
    return [] if watched is None else _lines(OWN_CODE, ns, watched.lines("own"))


def _lines(
    part: str, ns: float, lines: Iterable[tuple[tuple[str, int, str, int], float]]
) -> list[Leaf]:
    rows = list(lines)
    # Only the hottest lines were kept: what the others took is left over.
    whole = max(1e-9, sum(share for _, share in rows))
    return [
        Leaf(part, function, ns * share / whole, CodeLine(file, line), 0.0)
        for (file, line, function, _), share in rows
    ]


def callback_leaves(view: View, ns: float) -> list[Leaf]:
    totals = [one for one in view.recorded.callbacks if one.hook in ("batch", "epoch")]
    by_name: dict[str, tuple[float, CodeLine | None]] = {}
    for one in totals:
        before, place = by_name.get(one.name, (0.0, None))
        own = CodeLine(one.file, one.line) if one.file and one.line else None
        by_name[one.name] = (before + one.ns / max(1, view.costs.steps), own or place)
    return [Leaf("callbacks", name, spent, place, 0.0) for name, (spent, place) in by_name.items()]
