"""A model's training step under other compile settings, without touching the model's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def changed_settings(model: Any, settings: dict[str, Any]) -> Callable[..., Any]:
    """Make a new step function with some of `steps_per_execution`, `run_eagerly`, `jit_compile`.

    Keras reads some settings when the step is made and others when it is traced, so the
    returned function puts them in place around each call and back afterwards.
    """
    own_function = model.train_function
    previous = _apply(model, settings)
    try:
        model.make_train_function(force=True)
        made = model.train_function
    finally:
        _apply(model, previous)
        model.train_function = own_function

    def function(*arguments: Any) -> Any:
        before = _apply(model, settings)
        try:
            return made(*arguments)
        finally:
            _apply(model, before)

    return function


def _apply(model: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Set the given settings and return what they were."""
    previous = {}
    for name, value in settings.items():
        previous[name] = getattr(model, name)
        if previous[name] != value:
            setattr(model, name, value)
    return previous
