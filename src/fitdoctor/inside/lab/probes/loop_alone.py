"""Keras's loop around a step of one row, and that step alone.

Where the device computes while the host continues (JAX), a short step hides behind the loop:
no faster step makes training faster than this.
"""

from __future__ import annotations

from fitdoctor.contract.evidence.step import LoopAlone
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    LOOP_SECONDS,
    compiled_step_ns,
    keras_callbacks,
    time_in_loop,
    time_steps,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe

ALONE_SECONDS = 0.3
# A step much longer than Keras's loop cannot hide behind it.
HIDDEN_STEP_NS = 1_000_000


class LoopAloneProbe(Probe[LoopAlone]):
    phase = Phase.HOST

    def wanted(self, context: Context) -> bool:
        step_ns = compiled_step_ns(context)
        return context.backend.name == "jax" and step_ns is not None and step_ns < HIDDEN_STEP_NS

    def run(self, context: Context) -> LoopAlone:
        backend, model = context.backend, context.fit.model
        if backend.rows(context.batch) is None:
            raise NotAvailable("the tensors of a batch do not share their first dimension")
        # A step of its own: another shape would make the user's compiled one more general.
        function = backend.step_function(model, steps_per_execution=1)
        row = backend.cut(context.batch, 1)
        stepper = backend.stepper(context.fit, function, row, context.result)
        alone = time_steps(stepper, 1, ALONE_SECONDS)
        callbacks = keras_callbacks(model, add_history=True, add_progbar=False)
        in_loop = time_in_loop(callbacks, model, stepper, 1, LOOP_SECONDS)
        return LoopAlone(**in_loop.fields(), alone=alone.timed())
