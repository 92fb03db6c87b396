"""From what was seen of a loop's body to a step that can be experimented with."""

from __future__ import annotations

from fitdoctor.inside.lab.apparatus.loop_step import LoopStep, compiled_function
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.inputs.given_away import with_living_arrays
from fitdoctor.inside.seams.models.loop_functions import PlainFunction, ReferenceStep
from fitdoctor.inside.seams.models.observed import main_model
from fitdoctor.inside.seams.not_available import NotAvailable


def step_of_loop(backend: Backend, loop: Loop, finder: StepFinder | None) -> LoopStep:
    """The compiled function of the loop, or its step function, or a stand-in for its body.

    Raises:
        NotAvailable: none of them was found.
    """
    optimizer = loop.optimizer
    called = loop.last_function_call
    if called is not None:
        function = compiled_function(backend, called)
        arguments = with_living_arrays((called.args, called.kwargs))
        return LoopStep(backend, function, arguments, optimizer=optimizer)
    if finder is None:
        raise NotAvailable("the loop's body was not seen")
    if finder.found is not None:
        plain = PlainFunction(backend.name, finder.found.function)
        return LoopStep(backend, plain, (finder.found.arguments, {}), optimizer=optimizer)
    seen = main_model(finder.models)
    if seen is None:
        raise NotAvailable("the loop's body calls no Keras model")
    reference = ReferenceStep(backend.name, seen, optimizer)
    return LoopStep(backend, reference, (seen.args, {}), optimizer=optimizer)
