"""Several steps in one execution, each number in turns with steps one by one."""

from __future__ import annotations

from typing import Any, ClassVar

from fitdoctor.contract.evidence.step import StepsPerExecution
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    SECONDS,
    Steps,
    steps_under_settings,
    time_alone,
    time_beside,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.lab.probes.batch_scaling import SHORT_STEP_NS, start_may_matter

# A loader this many times slower than the step is the limit, however steps are started.
LOADER_LIMITED = 2.0
_ONE_BY_ONE = "steps one by one"


class OneByOneProbe(Probe[StepsPerExecution]):
    """Steps as they are, which are kept to compare with."""

    keys: ClassVar[tuple[str, ...]] = ("1",)
    phase = Phase.HOST
    after: ClassVar[tuple[str, ...]] = ("batch_scaling", "progress_bar")

    def wanted(self, context: Context) -> bool:
        step_ns = context.step_ns or 0.0
        return (
            start_may_matter(context)
            and context.fit.executions == 1
            and step_ns < SHORT_STEP_NS
            and context.loader_ns < LOADER_LIMITED * step_ns
        )

    def run(self, context: Context) -> StepsPerExecution:
        steps = steps_under_settings(context, _batch(context), steps_per_execution=1)
        kept = context.shared(_ONE_BY_ONE, lambda: steps)
        return StepsPerExecution(**time_alone(kept, SECONDS))


class TogetherProbe(OneByOneProbe):
    """This many steps in one execution."""

    keys = ("10", "50")
    after = (*OneByOneProbe.after, "steps_per_execution_1")

    def run(self, context: Context) -> StepsPerExecution:
        base: Steps = context.shared(_ONE_BY_ONE, _not_timed)
        steps = steps_under_settings(context, _batch(context), steps_per_execution=int(self.key))
        return StepsPerExecution(**time_beside(base, steps, SECONDS))


def _batch(context: Context) -> Any:
    """None where the user's own data can be read again: the loader has to keep up too."""
    return context.batch if context.is_one_shot else None


def _not_timed() -> Steps:
    raise NotAvailable("steps one by one could not be timed")
