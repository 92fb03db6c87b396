"""The step without XLA, where the user asked for it."""

from __future__ import annotations

from fitdoctor.contract.evidence.step import WithoutJit
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    SECONDS,
    Steps,
    compiled_step_ns,
    own_stepper,
    steps_under_settings,
    time_beside,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe


class WithoutJitProbe(Probe[WithoutJit]):
    """In turns with the user's own step; on JAX nothing else is usual."""

    phase = Phase.MODEL

    def wanted(self, context: Context) -> bool:
        if compiled_step_ns(context) is None or context.backend.name == "jax":
            return False
        return context.fit.model.jit_compile is True

    def run(self, context: Context) -> WithoutJit:
        base = Steps(own_stepper(context), context.fit.executions)
        changed = steps_under_settings(context, context.batch, jit_compile=False)
        return WithoutJit(**time_beside(base, changed, SECONDS))
