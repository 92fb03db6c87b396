"""A tf.data pipeline as a whole: joint plans for it, and what they gave when they ran."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.codec import Signed
from fitdoctor.contract.evidence.pipeline import ChangedPipeline
from fitdoctor.contract.results import result


@dataclass(frozen=True, kw_only=True)
class InputPlan:
    """Several changes of one pipeline together; stages have their numbers as written."""

    order: tuple[int, ...]  # of the stages in one chain, the last one first
    calls: tuple[tuple[int, Signed], ...] = ()  # stage, num_parallel_calls; -1 is AUTOTUNE
    cache_after: int | None = None
    pool: int | None = None  # threads of its own

    @property
    def calls_of(self) -> dict[int, int]:
        """`num_parallel_calls` by stage."""
        return dict(self.calls)


@dataclass(frozen=True, kw_only=True)
class TriedPlan(ChangedPipeline):
    """The pipeline as one plan wants it, beside the pipeline as written."""

    plan: InputPlan
    same: bool = True  # bit for bit; False: except for rounding
    keeps_order: bool = True
    redraws: bool = False  # random numbers fall on other elements
    cache_bytes: float | None = None  # that a whole pass takes


@result("input_plans")
@dataclass(frozen=True, kw_only=True)
class InputPlans:
    """The plans that were tried, in the order in which they were expected to help."""

    rows: tuple[TriedPlan, ...] = ()
    available_bytes: int | None = None
    declined: tuple[str, ...] = ()  # moves that would change the elements
    seconds: float = 0.0
