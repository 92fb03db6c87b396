"""Work on elements that a later filter throws away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fitdoctor.analysis.pipeline import StageCost

# Numbers of elements per batch are counted over some batches: so close, they are the same.
SAME_COUNT = 0.02


@dataclass(frozen=True)
class DroppedElements:
    """One filter, and the maps whose elements it drops."""

    filter: StageCost
    maps: tuple[StageCost, ...]  # the last one first
    dropped: float  # share of the elements
    wasted_ns: float  # per batch of the pipeline, of all its stages' own time
    whole_ns: float

    @property
    def left(self) -> float:
        """Of the pipeline's work, with the filter before these maps."""
        return 1.0 - self.wasted_ns / self.whole_ns if self.whole_ns > 0 else 1.0


def dropped_elements(stages: Sequence[StageCost]) -> DroppedElements | None:
    """The filter that wastes most; None where none comes after a map."""
    by_number = {stage.n: stage for stage in stages}
    whole = sum(stage.own_ns or 0.0 for stage in stages)
    found = [
        one
        for stage in stages
        if stage.op == "filter" and (one := _before(stage, by_number, whole)) is not None
    ]
    return max(found, key=lambda one: one.wasted_ns, default=None)


def _before(
    stage: StageCost, by_number: dict[int, StageCost], whole: float
) -> DroppedElements | None:
    source = _source(stage, by_number)
    if source is None or not source.per_batch or stage.per_batch is None:
        return None
    given = source.per_batch
    maps: list[StageCost] = []
    one: StageCost | None = source
    # Up to where the number of elements is another one: that work is not dropped here.
    while one is not None and abs((one.per_batch or 0.0) - given) <= SAME_COUNT * given:
        if one.op == "map":
            maps.append(one)
        one = _source(one, by_number)
    dropped = max(0.0, 1.0 - stage.per_batch / given)
    wasted = dropped * sum(each.own_ns or 0.0 for each in maps)
    return DroppedElements(stage, tuple(maps), dropped, wasted, whole) if maps else None


def _source(stage: StageCost, by_number: dict[int, StageCost]) -> StageCost | None:
    return by_number.get(stage.inputs[0]) if len(stage.inputs) == 1 else None
