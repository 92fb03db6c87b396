"""The input as a picture: its stages from the source to the model, cost and rate of each."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fitdoctor.analysis.input_line import narrowest
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.units import duration

_AUTOTUNE = -1
_NS_PER_S = 1e9


@dataclass(frozen=True)
class StageBox:
    """One stage as it is drawn; texts are empty where nothing is known."""

    op: str
    facts: str  # "8 in parallel, Python"
    cost: str  # time of the stage itself, per batch
    rate: str  # batches per second up to here
    place: str = ""
    share: float | None = None  # of the slowest stage, for the bar
    is_narrowest: bool = False
    joins: int = 0  # how many stages it reads from, where more than one


@dataclass(frozen=True)
class PipelinePicture:
    """All stages, the source first."""

    boxes: tuple[StageBox, ...]
    is_timed: bool
    loader: str  # the loader as a whole, one sentence


def pipeline_picture(view: View | None) -> PipelinePicture | None:
    """The picture of a workload's input, or None where nothing is known of it."""
    if view is None or not view.input.kind:
        return None
    stages = [stage for stage in reversed(view.stages) if stage.op != "with_options"]
    most = max((stage.work_ns for stage in stages), default=0.0)
    narrow = narrowest(view)
    boxes = [_box(stage, most, narrow) for stage in stages] or [_whole(view)]
    return PipelinePicture(
        boxes=tuple(boxes),
        is_timed=any(stage.ns is not None for stage in stages),
        loader=_loader(view),
    )


def _box(stage: StageCost, most: float, narrow: StageCost | None) -> StageBox:
    timed = stage.own_ns is not None or stage.own_cpu_ns is not None
    return StageBox(
        op=stage.op,
        place=f"{os.path.basename(stage.file)}:{stage.line or 0}" if stage.file else "",
        facts=", ".join(_facts(stage)),
        cost=_cost(stage.work_ns) if timed else "",
        rate=_rate(stage.ns),
        share=stage.work_ns / most if timed and most else None,
        is_narrowest=narrow is not None and stage.n == narrow.n,
        joins=len(stage.inputs) if len(stage.inputs) > 1 else 0,
    )


def _cost(ns: float) -> str:
    # A stage's own cost is a difference of two measurements, so nothing can be left of it.
    return f"{duration(ns)} a batch" if ns >= 1 else "too little to measure"


def _whole(view: View) -> StageBox:
    """Input that has no stages to look into."""
    facts = view.input
    details = []
    if facts.workers is not None:
        how = "process" if facts.use_multiprocessing else "thread"
        plural = "" if facts.workers == 1 else "es" if how == "process" else "s"
        details.append(f"{facts.workers} worker {how}{plural}")
    loader = view.loader
    if loader is not None and loader.hot_function is not None:
        details.append(f"most of it in {loader.hot_function[2]}")
    return StageBox(
        op=facts.name or facts.kind,
        facts=", ".join(details),
        cost=f"{duration(loader.ns.value)} a batch" if loader else "",
        rate=_rate(loader.ns.value if loader else None),
    )


def _facts(stage: StageCost) -> list[str]:
    facts = []
    if stage.parallel is not None:
        count = "AUTOTUNE" if stage.parallel == _AUTOTUNE else str(stage.parallel)
        facts.append(f"{count} in parallel")
    if stage.python:
        facts.append("Python code")
    if stage.random:
        facts.append("random")
    if stage.batch_size is not None:
        facts.append(f"size {stage.batch_size}")
    if stage.buffer_size is not None:
        size = "AUTOTUNE" if stage.buffer_size == _AUTOTUNE else f"{stage.buffer_size:,}"
        facts.append(f"buffer {size}")
    return facts


def _rate(ns: float | None) -> str:
    if not ns:
        return ""
    per_second = _NS_PER_S / ns
    return f"{per_second:,.0f} batches/s" if per_second >= 10 else f"{per_second:.1f} batches/s"


def _loader(view: View) -> str:
    loader = view.loader
    if loader is None:
        return ""
    busy = loader.cores + loader.children_cores
    how = "where it ran" if loader.in_place else "without a model"
    return (
        f"Loading {how} takes {duration(loader.ns.value)} a batch and keeps "
        f"{busy:.1f} of {view.cpus} cores busy."
    )
