"""Calls of a framework that train nothing: models built and copied, weights read and written.

They lie in the framework, as a step does, but a loop that makes them in every iteration does so
beside its step.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

# Public functions, by the first part of the module that they are in.
UPKEEP = {
    "keras": frozenset(
        {
            *("clone_model", "from_config", "get_config", "model_from_json", "summary"),
            *("get_weights", "set_weights", "save_weights", "load_weights", "save", "load_model"),
            *("count_params", "compile"),
        }
    ),
    "torch": frozenset({"state_dict", "load_state_dict", "save", "load"}),
}
# Layers and models are built by their class; so are optimizers, metrics and losses.
BUILT = "__init__"
BUILDERS = ("keras.src.layers", "keras.src.models", "keras.src.optimizers", "keras.src.metrics")


def upkeep(stack: Sequence[FrameType]) -> str | None:
    """The outermost such call on a stack, innermost frame first."""
    for frame in reversed(stack):
        module, name = str(frame.f_globals.get("__name__")), frame.f_code.co_name
        if name in UPKEEP.get(module.partition(".")[0], ()):
            return name
        if name == BUILT and module.startswith(BUILDERS):
            return type(frame.f_locals.get("self")).__name__
    return None
