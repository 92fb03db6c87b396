"""An eager step compiled as it would be by default, alone and inside Keras's loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.contract.evidence.step import CompiledFit
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    SECONDS,
    keras_callbacks,
    own_stepper,
    time_in_loop,
    time_steps,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.watch.eager_switch import Switch, eager_switch, place_of_switch


class CompiledFitProbe(Probe[CompiledFit]):
    """A compiled step may be far shorter than what Keras does around each step, part of it on
    another thread; both together are what the user would get.
    """

    phase = Phase.HOST

    def wanted(self, context: Context) -> bool:
        return context.step_ns is not None and context.is_eager

    def run(self, context: Context) -> CompiledFit:
        switch = eager_switch(context.backend.name)
        settings: dict[str, Any] = {"run_eagerly": False}
        if context.backend.name == "jax":
            settings["jit_compile"] = True  # what compiling means there
        call = context.fit
        with _compiling(switch):
            function = context.backend.step_function(call.model, **settings)
            stepper = own_stepper(context, function)
            alone = time_steps(stepper, call.executions, SECONDS)
            in_loop = time_in_loop(keras_callbacks(), call.model, stepper, call.executions)
        place = place_of_switch(switch) if switch else None
        return CompiledFit(
            **alone.fields(),
            in_loop=in_loop.timed(),
            switch=switch.name if switch else None,
            without_jit=_without_jit(context),
            file=place.file if place else None,
            line=place.line if place else None,
        )


def _without_jit(context: Context) -> tuple[str, ...]:
    """Types of layers that made Keras switch jit off by itself."""
    model = context.fit.model
    asked = (context.recorder.compiled_with.get(model) or {}).get("jit_compile", "auto")
    if context.backend.name != "jax" or asked is False or model.run_eagerly:
        return ()
    layers = (one for one in all_layers(model) if not getattr(one, "supports_jit", True))
    return tuple(sorted({type(one).__name__ for one in layers}))


@contextmanager
def _compiling(switch: Switch | None) -> Iterator[None]:
    if switch is not None:
        switch.turn(True)
    try:
        yield
    finally:
        if switch is not None:
            switch.turn(False)
