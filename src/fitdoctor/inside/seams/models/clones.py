"""A copy of the user's model with one thing changed, compiled as the user's was.

The copy has its own layers and variables, so that nothing of the user's model is touched.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable

Rebuild = Callable[[Any], Any]


@dataclass(frozen=True)
class Change:
    """What differs from the user's model; nothing by default."""

    layer: Rebuild | None = None  # makes the copy's layer from the user's
    optimizer: str | None = None
    dtype: str | None = None
    metrics: bool = False  # with the user's metrics; without, copies are cheaper to compare
    jit_compile: bool | None = None


def compile_arguments(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    """The arguments of one `compile()` by name; empty where it will raise itself."""
    try:
        bound = inspect.signature(method).bind_partial(None, *args, **kwargs)
    except TypeError:
        return {}
    arguments = dict(bound.arguments)
    arguments.pop("self", None)
    return arguments


def cloned(model: Any, compiled_with: dict[str, Any], change: Change) -> Any:
    """A changed, compiled copy; raises NotAvailable where the model cannot be rebuilt."""
    keras = sys.modules["keras"]
    if type(model).train_step is not keras.Model.train_step:
        raise NotAvailable("the model has a train_step of its own, so no copy of it was tried")
    with _names_kept():
        try:
            copy = keras.models.clone_model(
                model, clone_function=_rebuilder(model, change), recursive=True
            )
        except (ValueError, TypeError, NotImplementedError, AttributeError, KeyError) as error:
            raise NotAvailable(f"the model cannot be rebuilt from its layers: {error}") from error
        copy.compile(
            optimizer=change.optimizer or _fresh(compiled_with.get("optimizer", "rmsprop")),
            loss=compiled_with.get("loss"),
            loss_weights=compiled_with.get("loss_weights"),
            metrics=_fresh_all(compiled_with.get("metrics")) if change.metrics else None,
            jit_compile=model.jit_compile if change.jit_compile is None else change.jit_compile,
        )
    return copy


def _rebuilder(model: Any, change: Change) -> Rebuild:
    """Copies of layers; the change applies to every layer but what gives the outputs its shape."""

    def rebuild(layer: Any) -> Any:
        if change.layer is not None:
            made = change.layer(layer)
            if made is not None:
                return made
        config = layer.get_config()
        if change.dtype is not None and "dtype" in config:
            config["dtype"] = change.dtype
        return type(layer).from_config(config)

    return rebuild


def _fresh(thing: Any) -> Any:
    """A copy without state of an optimizer or metric; names and functions are themselves."""
    if hasattr(thing, "get_config") and hasattr(type(thing), "from_config"):
        return type(thing).from_config(thing.get_config())
    return thing


def _fresh_all(things: Any) -> Any:
    if isinstance(things, dict):
        return {name: _fresh_all(value) for name, value in things.items()}
    if isinstance(things, list | tuple):
        return [_fresh_all(value) for value in things]
    return _fresh(things)


@contextmanager
def _names_kept() -> Iterator[None]:
    """Keras counts the names it gives; a copy must not change the names of later layers."""
    state = sys.modules["keras.src.backend.common.global_state"]
    counts = state.get_global_attribute("object_name_uids")
    before = dict(counts) if counts is not None else None
    try:
        yield
    finally:
        if counts is not None and before is not None:
            counts.clear()
            counts.update(before)


def output_layers(model: Any) -> set[str]:
    """Names of the layers whose width is the task's, not the model's choice."""
    outputs = getattr(model, "outputs", None) or []
    found = set()
    for tensor in outputs:
        history = getattr(tensor, "_keras_history", None)
        if history is not None:
            found.add(str(history.operation.name))
    layers = getattr(model, "layers", [])
    return found or ({str(layers[-1].name)} if layers else set())
