"""The operations of a step, by layer, from the framework's own profiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.limits import NS_PER_S, RECURRENT
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.operations.profile import operations
from fitdoctor.inside.seams.operations.profilers import PROFILERS

# Enough for a mean; a profile of many thousand operations takes long to read.
MOST_STEPS = 10
FEWEST_STEPS = 2
LONGEST_NS = NS_PER_S


class OperationsProbe(Probe[Operations]):
    """Some steps on the frozen batch.

    The profiler slows the host: shares count, not times.
    """

    phase = Phase.LAYERS
    subjects = STEPS
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        if context.found(Operations) is not None:
            return False  # of the loop's own iterations
        return context.trial is not None and context.step_ns is not None

    def run(self, context: Context) -> Operations:
        step = context.step
        stepper = step.as_is()
        for _ in range(FEWEST_STEPS):
            stepper.step()
        stepper.synchronize()
        each = (context.step_ns or 1.0) * step.executions
        steps = max(FEWEST_STEPS, min(MOST_STEPS, int(LONGEST_NS / max(1.0, each))))

        def run() -> None:
            for _ in range(steps):
                stepper.step()
            stepper.synchronize()

        seen = operations(PROFILERS[context.backend.name], run, steps * step.executions)
        return by_layer(seen, [step.model])


def by_layer(seen: Callable[[list[str]], Operations], models: Iterable[Any]) -> Operations:
    """What a profiler saw, by the layers of these models."""
    # Models only hold layers; a layer that holds others is one row with them.
    inside = [one for model in models for one in all_layers(model)]
    layers = [one for one in inside if not getattr(one, "layers", None)]
    found = seen([str(layer.name) for layer in layers])
    return replace(found, kernels=tuple(str(one.name) for one in layers if _is_kernel(one)))


def _is_kernel(layer: Any) -> bool:
    """One of Keras's own layers that is a few operations of the framework."""
    kind = type(layer)
    is_keras = kind.__module__.startswith("keras.") and kind.__name__ != "Lambda"
    is_grouped = (getattr(layer, "groups", 1) or 1) > 1
    return is_keras and kind.__name__ not in RECURRENT and not is_grouped
