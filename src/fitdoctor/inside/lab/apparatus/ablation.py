"""Prefix ablation of a tf.data pipeline: what each stage costs, by difference.

Every stage of a pipeline is a dataset that can be read by itself. The time of a stage is
that of the pipeline up to it less that of its inputs, per batch of the whole pipeline.
"""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.contract.evidence.pipeline import StageTime, StageTimes
from fitdoctor.inside.lab.apparatus.dataset_timing import SECONDS, Iterators, Timing, time_dataset
from fitdoctor.inside.seams.inputs.tf_pipeline import moved
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk

BUDGET_S = 6.0
# Stages that hand elements on, one for one, at no cost of their own.
PASS_ON = frozenset(
    {
        "AssertCardinalityDataset",
        "enumerate",
        "prefetch",
        "repeat",
        "skip",
        "take",
        "with_options",
    }
)
ONE_TO_ONE = frozenset(
    {*PASS_ON, "cache", "ignore_errors", "map", "scan", "shuffle", "snapshot", "zip"}
)
BATCHING = frozenset({"batch", "padded_batch", "ragged_batch", "sparse_batch"})
SHARING = frozenset({"choose_from_datasets", "concatenate", "sample_from_datasets"})
# A shuffle buffer that takes longer to fill is not filled for a measurement.
LONGEST_FILL_S = 1.0
COUNTED = 64  # elements, which are enough for the ratio of a filter or flat_map
COUNT_S = 0.5


class Ablation:
    """Times the stages of one pipeline, sources first."""

    def __init__(
        self,
        dataset: Any,
        iterators: Iterators,
        budget_s: float = BUDGET_S,
        seconds: float = SECONDS,
    ) -> None:
        self._seconds = seconds
        self.stages = walk(dataset)
        self._options = dataset.options()
        self._iterators = iterators
        self._deadline = time.perf_counter() + budget_s
        self.times: dict[int, Timing] = {}
        self.per_batch: dict[int, float] = {}

    def run(self) -> StageTimes:
        """One row per stage that could be timed, in the order of `stages`."""
        self._count_elements()
        for stage in reversed(self._executed()):
            if stage.number in self.per_batch and time.perf_counter() < self._deadline:
                self._time(stage)
        self._whole_by_its_inputs()
        if 0 not in self.times and self._seconds < SECONDS:
            self._time(self.stages[0])  # soon done, and nothing can be compared without it
        timed = (stage for stage in self.stages if stage.number in self.times)
        return StageTimes(tuple(map(self.row, timed)))

    def _executed(self) -> list[Stage]:
        """The stages that still run once a cache is full: none before a cache."""
        alive = {0}
        found = []
        for stage in self.stages:
            if stage.number not in alive:
                continue
            found.append(stage)
            if stage.op != "cache":
                alive.update(stage.inputs)
        return found

    # -- how many elements make one batch ------------------------------------------

    def _count_elements(self) -> None:
        self.per_batch[0] = 1.0
        for stage in self._executed():
            if stage.number not in self.per_batch or stage.op == "cache":
                continue
            needed = self._inputs_per_element(stage)
            if needed is None:
                continue
            for number in stage.inputs:
                self.per_batch[number] = self.per_batch[stage.number] * needed

    def _inputs_per_element(self, stage: Stage) -> float | None:
        if stage.op in ONE_TO_ONE:
            return 1.0
        if stage.op in BATCHING:
            return float(stage.settings.get("batch_size", 0)) or None
        if stage.op == "shard":
            return float(stage.settings.get("num_shards", 0)) or None
        if stage.op in SHARING:
            return 1.0 / len(stage.inputs)
        if len(stage.inputs) != 1 or stage.op in ("window", "group_by_window"):
            return None
        return self._counted(stage)

    def _counted(self, stage: Stage) -> float | None:
        """How many inputs a filter, flat_map or interleave takes for one element."""
        source = self.stages[stage.inputs[0]].dataset
        try:
            outputs = self._iterators.open(moved(stage.dataset, source.take(COUNTED)))
        except LookupError:
            return None
        begin = time.perf_counter()
        count = 0
        for _ in outputs:
            count += 1
            if time.perf_counter() - begin > COUNT_S:
                return None
        return COUNTED / count if count else None

    # -- time ----------------------------------------------------------------------

    def _time(self, stage: Stage) -> None:
        inputs = [self.times[number] for number in stage.inputs if number in self.times]
        if stage.op in PASS_ON and len(inputs) == 1 and stage.number != 0:
            self.times[stage.number] = inputs[0]
            return
        if stage.op == "shuffle" and inputs and not self._fills_soon(stage, inputs[0]):
            self.times[stage.number] = inputs[0]
            return
        self.times[stage.number] = time_dataset(
            stage.dataset.with_options(self._options), self._iterators, seconds=self._seconds
        )

    def _whole_by_its_inputs(self) -> None:
        """The whole pipeline, where time ran out: as its nearest stage that does the work."""
        passed = []
        number = 0
        while number not in self.times:
            stage = self.stages[number]
            if stage.op not in PASS_ON or len(stage.inputs) != 1:
                return
            passed.append(number)
            number = stage.inputs[0]
        for one in passed:
            self.times[one] = self.times[number]

    def _fills_soon(self, stage: Stage, source: Timing) -> bool:
        return stage.settings.get("buffer_size", 0) * source.ns / 1e9 < LONGEST_FILL_S

    def row(self, stage: Stage) -> StageTime:
        """What a timed stage costs per batch of the whole pipeline."""
        timing = self.times[stage.number]
        count = self.per_batch[stage.number]
        wall = timing.ns * count
        cpu = wall * timing.cores
        inputs = [number for number in stage.inputs if number in self.times]
        wall_before = sum(self.times[n].ns * self.per_batch[n] for n in inputs)
        cpu_before = sum(self.times[n].ns * self.per_batch[n] * self.times[n].cores for n in inputs)
        return StageTime(
            n=stage.number,
            per_batch=count,
            ns=round(wall),
            cpu_ns=round(cpu),
            own_ns=round(max(0.0, wall - wall_before)),
            own_cpu_ns=round(max(0.0, cpu - cpu_before)),
            first_ns=timing.first_ns,
            element_bytes=timing.element_bytes,
        )
