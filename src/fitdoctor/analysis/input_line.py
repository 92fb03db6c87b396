"""The input of a workload in one line: its kind, its stages, its rate, its narrowest stage."""

from __future__ import annotations

import os

from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.units import duration

_QUIET = frozenset({"with_options"})
# A stage is called the narrowest when it takes at least this share of a batch.
NARROW_SHARE = 0.3


def input_line(view: View) -> str | None:
    """What is known of the input, or None where nothing is."""
    kind = view.input.kind
    if not kind:
        return None
    parts = [_what(view, kind)]
    loader = view.loader
    if loader is not None:
        rate = f"{duration(loader.ns.value)} a batch"
        where = "where it ran" if loader.in_place else "alone"
        parts.append(f"{rate} {where}, {loader.busy_cores:.1f} of {view.cpus} cores busy")
    narrow = narrowest(view)
    if narrow is not None:
        parts.append(f"most of it in {_named(narrow)}")
    return "; ".join(parts)


def narrowest(view: View) -> StageCost | None:
    """The stage that takes most of a batch, where one does."""
    timed = [stage for stage in view.stages if stage.ns is not None]
    if not timed:
        return None
    whole = timed[0].ns or 0.0
    stage = max(timed, key=lambda one: one.work_ns)
    return stage if whole and stage.work_ns >= NARROW_SHARE * whole else None


def _what(view: View, kind: str) -> str:
    if kind in ("tf.data", "grain"):
        names = [stage.op for stage in reversed(view.stages) if stage.op not in _QUIET]
        return f"{kind}: {' > '.join(names)}" if names else kind
    facts = view.input
    name = facts.name
    text = f"{kind} {name}" if name and name != kind else kind
    if facts.workers is not None:
        in_processes = facts.use_multiprocessing or kind == "DataLoader"
        how = "processes" if in_processes else "threads"
        count = facts.workers
        text += f", {count or 'no'} worker{'' if count == 1 else f' {how}'}"
    return text


def _named(stage: StageCost) -> str:
    if stage.file is None:
        return stage.op
    return f"{stage.op} ({os.path.basename(stage.file)}:{stage.line})"
