"""A loop's step by itself: called again, compiled, and whether that trains the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fitdoctor.contract.evidence.loop import (
    CompiledAgrees,
    CompiledStep,
    PlacedArguments,
    RepeatedCall,
)
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus.frozen_steps import Steps, time_beside
from fitdoctor.inside.lab.apparatus.loop_step import LoopStep
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.lab.recording import run_and_record
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.inputs.kept_arrays import placing
from fitdoctor.inside.seams.models.traced_trials import GraphTrial

SECONDS = 0.8


class LoopTrials:
    """Experiments on a loop's step that a fit has no need of."""

    def __init__(self, context: Context, loop: Loop, kept: Sequence[Any] = ()) -> None:
        """`kept`: large NumPy arrays that every call of the loop's function was given."""
        self._context = context
        self._loop = loop
        self._kept = kept
        self._compiled: Callable[..., Any] | None = None

    def run(self, finder: StepFinder | None) -> None:
        """What the finder saw of the loop's body is tried compiled, unless all of it is already."""
        run_and_record(self._context, recorded_name(RepeatedCall), self._repeat_call)
        if self._kept:
            run_and_record(self._context, recorded_name(PlacedArguments), self._placed_arguments)
        # On JAX an update outside of the jitted gradients is common.
        is_jax = self._context.backend.name == "jax"
        has_step = is_jax and finder is not None and finder.found is not None
        if self._loop.last_function_call is None or has_step:
            name = recorded_name(CompiledStep)
            run_and_record(self._context, name, lambda: self._compiled_step(finder))
            if isinstance(self._compiled, GraphTrial):
                name = recorded_name(CompiledAgrees)
                run_and_record(self._context, name, lambda: self._compiled_agrees(finder))

    def _repeat_call(self) -> RepeatedCall:
        """The compiled function again with the same arguments: its cost without a new trace."""
        if self._loop.last_function_call is None:
            raise NotAvailable("the loop's body calls no compiled function")
        stepper = self._context.step.as_is()
        return RepeatedCall(**self._timed(stepper.step, stepper.synchronize).fields())

    def _placed_arguments(self) -> PlacedArguments:
        """The same call with what it is given every time handed over once."""
        step = self._context.step
        if not isinstance(step, LoopStep):
            raise NotAvailable("the loop's body calls no compiled function")
        placed = step.with_arguments(placing(self._context.backend.name, self._kept))
        fields = time_beside(Steps(step.as_is()), Steps(placed), 2 * SECONDS)
        return PlacedArguments(
            **fields,
            bytes=sum(one.nbytes for one in self._kept),
            shapes=tuple(batches.describe(self._kept)),
        )

    def _compiled_step(self, finder: StepFinder | None) -> CompiledStep:
        step = finder.found if finder is not None else None
        if step is None:
            stepper = self._context.step.with_jit(True)
            timed = self._timed(stepper.step, stepper.synchronize)
            return CompiledStep(**timed.fields(), stands_for="reference")
        wait_for = self._context.backend.wait_for
        compiled = self._compiled = self._context.backend.compiled(step.function)
        timed = self._timed(lambda: wait_for(compiled(*step.arguments)))
        eager = self._timed(lambda: wait_for(step.function(*step.arguments)))
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

    def _timed(self, work: Callable[[], Any], wait: Callable[[], Any] = lambda: None) -> Windows:
        for _ in range(2):
            work()
        wait()
        return measure(work, wait, seconds=SECONDS)
