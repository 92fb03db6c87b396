"""The step compiled by XLA, where starting its many operations takes much of it."""

from __future__ import annotations

import time

from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import WithJit
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    SECONDS,
    Steps,
    compiled_step_ns,
    time_beside,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe

# Starting operations must take this share of a step: XLA does away with little else on a CPU.
STARTING_SHARE = 0.3
# XLA compiles large models for long.
MOST_PARAMETERS = 20_000_000


class WithJitProbe(Probe[WithJit]):
    """In turns with the user's own step; torch.compile takes too long to be tried here."""

    phase = Phase.MODEL
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        if context.backend.name != "tensorflow" or compiled_step_ns(context) is None:
            return False
        if context.trial is None or context.trial.has_jit:
            return False
        is_small = context.model.count_params() <= MOST_PARAMETERS
        return is_small and starting_share(context) >= STARTING_SHARE

    def run(self, context: Context) -> WithJit:
        step = context.step
        base = Steps(step.as_is(), step.executions)
        begin = time.perf_counter_ns()
        stepper = step.with_jit(True)
        stepper.step()
        stepper.synchronize()
        first = time.perf_counter_ns() - begin
        changed = Steps(stepper, step.executions, first)
        return WithJit(**time_beside(base, changed, SECONDS))


def starting_share(context: Context) -> float:
    """What starting the operations of a step takes of it, at the machine's best."""
    seen, ceiling, step_ns = (
        context.found(Operations),
        context.found(MachineCeiling),
        context.step_ns,
    )
    if seen is not None and seen.on_device and step_ns:
        return seen.starting_ns(step_ns) / step_ns
    if seen is None or ceiling is None or ceiling.op_start_ns is None or not step_ns:
        return 0.0
    return seen.count * ceiling.op_start_ns / step_ns
