"""The step without XLA, where the user asked for it."""

from __future__ import annotations

from fitdoctor.contract.evidence.step import WithoutJit
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    SECONDS,
    Steps,
    compiled_step_ns,
    time_beside,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe


class WithoutJitProbe(Probe[WithoutJit]):
    """In turns with the user's own step; on JAX nothing else is usual."""

    phase = Phase.MODEL
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        if compiled_step_ns(context) is None or context.backend.name == "jax":
            return False
        return context.trial is not None and context.trial.has_jit

    def run(self, context: Context) -> WithoutJit:
        step = context.step
        base = Steps(step.as_is(), step.executions)
        changed = Steps(step.with_jit(False), step.executions)
        return WithoutJit(**time_beside(base, changed, SECONDS))
