"""Calls of layers that a model remembers: those that a probe makes are forgotten again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.inside.seams.backends.model_state import all_layers

# Keras notes on a layer each symbolic call of it, and each call that uses what it gave.
NODES = ("_inbound_nodes", "_outbound_nodes")


@contextmanager
def nodes_kept(model: Any) -> Iterator[None]:
    """Let a model be cut and joined anew without a trace on its layers."""
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
