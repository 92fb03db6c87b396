"""Preprocessing that is the same in every pass, kept in memory instead of done again."""

from __future__ import annotations

import math
from typing import TypeVar

from fitdoctor.contract.evidence.pipeline import Cached, CachedPython
from fitdoctor.contract.limits import MEMORY_SHARE, NS_PER_S
from fitdoctor.inside.lab.apparatus.cache_point import CachePoint
from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits

MOST_CACHED = 2**30  # bytes, in a trial
FILL_S = 1.5  # a cache is filled for no longer than this in a trial

Kept = TypeVar("Kept", Cached, CachedPython)


class KeepInMemory(PipelineProbe[Cached]):
    """A cache after the last stage whose output is worth keeping."""

    after = ("trial_reads",)

    def is_worth(self, bench: PipelineBench) -> bool:
        return CachePoint(bench).stage() is not None

    def tried(self, bench: PipelineBench) -> Cached:
        return _cached(bench, Cached)


class KeepPythonInMemory(PipelineProbe[CachedPython]):
    """The same, where it is Python that does the work."""

    after = ("trial_packed",)

    def is_worth(self, bench: PipelineBench) -> bool:
        point = CachePoint(bench)
        return point.stage() is None and point.stage(of_python=True) is not None

    def tried(self, bench: PipelineBench) -> CachedPython:
        return _cached(bench, CachedPython)


def _cached(bench: PipelineBench, kind: type[Kept]) -> Kept:
    """Some elements in a cache, read over and over once all of them are there."""
    point = CachePoint(bench)
    stage, per_batch = point.kept(in_batches=True)
    element_ns = bench.ablation.times[stage.number].ns
    elements = max(1, int(2 * per_batch), int(FILL_S * NS_PER_S / max(1.0, element_ns)))
    size = bench.ablation.times[stage.number].element_bytes
    free = available_bytes()
    most = MOST_CACHED if free is None else min(MOST_CACHED, int(MEMORY_SHARE * free))
    facts = point.fields(stage, per_batch)
    known = facts["elements"] or elements
    if size is not None and size * min(elements, known) > most:
        elements = max(1, most // size)
    kept = min(elements, facts["elements"] or elements)
    changed = bench.timed(
        tf_edits.cached_at(bench.dataset, stage, elements),
        skip_s=1.3 * kept * element_ns / NS_PER_S,
        # All of them are in the cache when they have come out at the end.
        skip=math.ceil(kept / per_batch),
    )
    changed["first_ns"] = 0  # of a full cache; here the first batch was still being made
    return kind(**changed, **facts, element_bytes=size, available_bytes=free)
