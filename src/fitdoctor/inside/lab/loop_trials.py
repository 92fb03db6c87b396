"""A loop's step by itself: called again, compiled, and whether that trains the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.contract.evidence.loop import CompiledAgrees, CompiledStep, RepeatedCall
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.lab.recording import run_and_record
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.models.traced_trials import GraphTrial

SECONDS = 0.8


class LoopTrials:
    """The last experiments on a hand-written loop, outside of its iterations."""

    def __init__(self, context: Context, loop: Loop) -> None:
        self._context = context
        self._loop = loop
        self._compiled: Callable[..., Any] | None = None

    def run(self, finder: StepFinder | None) -> None:
        """What the finder saw of the loop's body is tried compiled, unless it is already."""
        with self._context.recorder.suspend():
            self.repeat_call()
            if self._loop.last_function_call is None:
                name = recorded_name(CompiledStep)
                run_and_record(self._context, name, lambda: self._compiled_step(finder))
                if isinstance(self._compiled, GraphTrial):
                    name = recorded_name(CompiledAgrees)
                    run_and_record(self._context, name, lambda: self._compiled_agrees(finder))

    def repeat_call(self) -> None:
        """The compiled function again with the same arguments: its cost without a new trace."""
        run_and_record(self._context, recorded_name(RepeatedCall), self._repeat_call)

    def _repeat_call(self) -> RepeatedCall:
        called = self._loop.last_function_call
        if called is None:
            raise NotAvailable("the loop's body calls no compiled function")
        function, args, kwargs = called
        return RepeatedCall(**self._timed(lambda: function(*args, **kwargs)).fields())

    def _compiled_step(self, finder: StepFinder | None) -> CompiledStep:
        if finder is None:
            raise NotAvailable("the loop's body was not seen")
        step = finder.found
        if step is None:
            reference = reference_step(finder.body_locals, self._loop.last_element)
            return CompiledStep(**self._timed(reference).fields(), stands_for="reference")
        compiled = self._compiled = self._context.backend.compiled(step.function)
        timed = self._timed(lambda: compiled(*step.arguments))
        eager = self._timed(lambda: step.function(*step.arguments))
        return CompiledStep(
            **timed.fields(),
            stands_for="step function",
            file=step.file,
            line=step.line,
            function=step.name,
            numbers_read=getattr(compiled, "numbers_read", 0),
            eager=eager.timed(),
        )

    def _compiled_agrees(self, finder: StepFinder | None) -> CompiledAgrees:
        """Whether the compiled step trains as the eager one does, bit by bit."""
        step = finder.found if finder is not None else None
        if step is None or not isinstance(self._compiled, GraphTrial):
            raise NotAvailable("no step was compiled")
        return CompiledAgrees(self._compiled.same_as_eager(step.arguments))

    def _timed(self, function: Callable[[], Any]) -> Windows:
        wait_for = self._context.backend.wait_for

        def work() -> None:
            wait_for(function())

        for _ in range(2):
            work()
        return measure(work, seconds=SECONDS)


def reference_step(names: dict[str, Any], element: Any) -> Callable[[], Any]:
    """Forward, backward and update of the loop's own model on its own batch, as a graph.

    The loss is a stand-in (mean square of the outputs): its cost is small beside the
    model's. Only for TensorFlow, where a body without a step function is usual.
    """
    tf = sys.modules.get("tensorflow")
    keras = sys.modules.get("keras")
    if tf is None or keras is None:
        raise NotAvailable("no step function was found in the loop's body")
    models = [value for value in names.values() if isinstance(value, keras.Model)]
    optimizers = [v for v in names.values() if isinstance(v, keras.optimizers.Optimizer)]
    leaves = batches.leaves(element)
    if len({id(model) for model in models}) != 1 or not optimizers or not leaves:
        raise NotAvailable("the loop's body calls no function, and its model was not found")
    model, optimizer, x = models[0], optimizers[0], leaves[0]

    def step() -> Any:
        with tf.GradientTape() as tape:
            outputs = model(x, training=True)
            loss = tf.add_n([tf.reduce_mean(tf.square(o)) for o in tf.nest.flatten(outputs)])
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    compiled: Callable[[], Any] = tf.function(step)
    return compiled
