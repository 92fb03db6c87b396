"""Every variable that a training step of a Keras model may change."""

from __future__ import annotations

import sys
from typing import Any


def state_variables(model: Any) -> list[Any]:
    """Weights, optimizer slots, metrics and seed generators, each once."""
    groups: list[Any] = [model.variables]
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and hasattr(optimizer, "variables"):
        groups.append(optimizer.variables)
    groups.append(getattr(model, "metrics_variables", []))
    groups.append([metric_variable for m in model.metrics for metric_variable in m.variables])
    groups.append(_global_seed_state())
    found: dict[int, Any] = {}
    for group in groups:
        for variable in group:
            found.setdefault(id(variable), variable)
    return list(found.values())


def _global_seed_state() -> list[Any]:
    """The generator behind `keras.random` calls without a seed, if one exists already."""
    module = sys.modules.get("keras.src.backend.common.global_state")
    if module is None:
        return []
    generator = module.get_global_attribute("global_seed_generator")
    return [generator.state] if generator is not None else []


def all_layers(model: Any) -> list[Any]:
    """The layers of a model and of the models inside it."""
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten(include_self=False)) if flatten else list(getattr(model, "layers", []))
