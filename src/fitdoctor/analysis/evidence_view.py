"""What the probes found on one workload, as rules ask for it; missing is None."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fitdoctor.analysis.estimate import from_windows, ratio_in_turns
from fitdoctor.analysis.model_costs import LayerCost, copy_ratio, layer_costs
from fitdoctor.analysis.pipeline import Changed, StageCost, Trial, stage_costs, trial_from, trial_of
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.contract.evidence.timing import Timed, TimedBeside
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.contract.results import Result
from fitdoctor.intervals import Interval


@dataclass(frozen=True, kw_only=True)
class EvidenceView:
    """Typed evidence, with the intervals that its windows give it."""

    recorded: RecordedWorkload
    frozen: Interval | None  # ns per step on one batch in memory
    input: InputFacts = field(default_factory=InputFacts)

    def found(self, kind: type[Result], key: str = "") -> Result | None:
        """A probe's result; of a family, the one with this key."""
        return self.recorded.found(kind, key)

    def timed(self, kind: type[Timed], key: str = "") -> Interval | None:
        """A probe's time per step, call or batch."""
        found = self.found(kind, key)
        return from_windows(found.ns) if found is not None else None

    def left_by(self, kind: type[Timed], key: str = "") -> Interval | None:
        """What a changed step leaves of the frozen one; None where it was not tried."""
        found = self.found(kind, key)
        if found is None or self.frozen is None:
            return None
        in_turns = ratio_in_turns(found) if isinstance(found, TimedBeside) else None
        if in_turns is not None:
            return in_turns
        tried = from_windows(found.ns)
        return tried.divided_by(self.frozen) if tried is not None else None

    def left_by_change(self, change: str) -> Interval | None:
        """The same for one thing of the model changed: tried on itself, or on a copy."""
        return self.left_by(ChangedStep, change) or copy_ratio(self.recorded, change)

    def changed_step(self, change: str) -> Interval | None:
        """The frozen step with one thing of the model changed."""
        left = self.left_by_change(change)
        if left is None or self.frozen is None:
            return None
        return left.scaled(self.frozen.value)

    @property
    def stages(self) -> tuple[StageCost, ...]:
        """The stages of a pipeline, the last one first."""
        return stage_costs(self.recorded)

    def stage(self, number: int | None) -> StageCost | None:
        """One stage by its number."""
        return next((stage for stage in self.stages if stage.n == number), None)

    @property
    def layers(self) -> tuple[LayerCost, ...]:
        """The model's layers, the costliest first."""
        return layer_costs(self.recorded)

    def layer(self, name: str | None) -> LayerCost | None:
        """One layer by its name."""
        return next((one for one in self.layers if one.name == name), None)

    def trial(self, kind: type[Changed]) -> Trial[Changed] | None:
        """A trial of a changed pipeline."""
        return trial_of(self.recorded, kind, self._epoch_steps)

    def trial_from(self, found: Changed) -> Trial[Changed] | None:
        """The same for one of several results."""
        return trial_from(found, self._epoch_steps)

    @property
    def _epoch_steps(self) -> float | None:
        """Steps in a pass, where there is more than one."""
        several = self.passes is None or self.passes > 1
        return self.steps_per_epoch if several else None

    @property
    def passes(self) -> int | None:
        """How often the training reads its data: as asked for, or as often as it was seen to."""
        if self.recorded.kind == "loop":
            return len({block.epoch for block in self.recorded.blocks if block.t})
        epochs = self.recorded.detail.epochs
        return None if epochs is None else epochs * max(1, len(self.recorded.calls))

    @property
    def steps_per_epoch(self) -> float | None:
        """Steps in one pass, from what ran."""
        asked = self.recorded.detail.steps_per_epoch
        if asked is not None:
            return float(asked)
        epochs = sum(call.epochs for call in self.recorded.calls)
        steps = sum(call.steps for call in self.recorded.calls)
        if epochs <= 1:
            return float(steps) if epochs else None
        by_epoch: Counter[tuple[int, int]] = Counter()
        for block in self.recorded.blocks:
            by_epoch[block.call, block.epoch] += len(block.t) * block.executions
        return float(max(by_epoch.values())) if by_epoch else steps / (epochs - 1)
