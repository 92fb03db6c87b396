"""Which of the user's functions run during compiled steps: only host ops call any.

A thread of the user's own (a monitor, a loader that reads ahead) runs with or without steps, so
what runs without them is recorded as well. On torch every step runs from Python: there, in which
functions it is away from torch.
"""

from __future__ import annotations

import time

from fitdoctor.contract.evidence.step import PythonInSteps
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    WARM_UP_SECONDS,
    compiled_step_ns,
    time_steps,
)
from fitdoctor.inside.lab.apparatus.stacks import StackSampler
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.seams.watch.outside_torch import watch_absences

SAMPLED_SECONDS = 0.6
IDLE_SECONDS = 0.3


class StepPythonProbe(Probe[PythonInSteps]):
    phase = Phase.HOST
    subjects = STEPS
    after = ("loop_alone",)

    def wanted(self, context: Context) -> bool:
        return compiled_step_ns(context) is not None and context.trial is not None

    def run(self, context: Context) -> PythonInSteps:
        stepper = context.step.as_is()
        # What is traced before the first steps runs the user's functions, too.
        time_steps(stepper, context.step.executions, WARM_UP_SECONDS)
        if context.backend.name == "torch":
            return watch_absences(stepper.step, SAMPLED_SECONDS)
        with StackSampler() as without:
            time.sleep(IDLE_SECONDS)
        with StackSampler() as sampler:
            time_steps(stepper, context.step.executions, SAMPLED_SECONDS)
        found = sampler.result()
        return PythonInSteps(found.samples, found.functions, without.result().functions)
