"""A copy of the user's model with one thing changed, compiled as the user's was.

The copy has its own layers and variables, so that nothing of the user's model is touched.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.not_available import NotAvailable

Rebuild = Callable[[Any], Any]  # another layer in a layer's place, or None to keep it
# Keras notes on a layer each symbolic call of it, and each call that uses what it gave.
NODES = ("_inbound_nodes", "_outbound_nodes")


def cloned(model: Any, compiled_with: dict[str, Any], change: Rebuild | None = None) -> Any:
    """A changed, compiled copy without metrics, which is cheaper to compare.

    Raises:
        NotAvailable: the model cannot be rebuilt.
    """
    keras = sys.modules["keras"]
    if type(model).train_step is not keras.Model.train_step:
        raise NotAvailable("the model has a train_step of its own, so no copy of it was tried")
    with _names_kept():
        try:
            copy = keras.models.clone_model(
                model, clone_function=functools.partial(_rebuilt, change), recursive=True
            )
        except (ValueError, TypeError, NotImplementedError, AttributeError, KeyError) as error:
            raise NotAvailable(f"the model cannot be rebuilt from its layers: {error}") from error
        copy.compile(
            optimizer=_fresh(compiled_with.get("optimizer", "rmsprop")),
            loss=compiled_with.get("loss"),
            loss_weights=compiled_with.get("loss_weights"),
            jit_compile=model.jit_compile,
        )
    return copy


def _rebuilt(change: Rebuild | None, layer: Any) -> Any:
    made = change(layer) if change is not None else None
    return type(layer).from_config(layer.get_config()) if made is None else made


def _fresh(optimizer: Any) -> Any:
    """A copy without state; a name is itself."""
    if hasattr(optimizer, "get_config") and hasattr(type(optimizer), "from_config"):
        return type(optimizer).from_config(optimizer.get_config())
    return optimizer


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


@contextmanager
def nodes_kept(model: Any) -> Iterator[None]:
    """Let a model be cut and joined again without a trace on its layers."""
    kept = [
        (nodes, len(nodes))
        for layer in all_layers(model)
        for name in NODES
        if isinstance(nodes := getattr(layer, name, None), list)
    ]
    try:
        yield
    finally:
        for nodes, count in kept:
            del nodes[count:]
