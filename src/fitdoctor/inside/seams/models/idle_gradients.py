"""Weights on torch whose gradients are computed although no optimizer uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def idle_weights(models: Iterable[Any], optimizers: Iterable[Any]) -> list[tuple[str, Any]]:
    """Weights of these models with a gradient that belongs to no optimizer, by name.

    None where an optimizer does not say what it updates: Keras's own keeps that to itself.
    """
    updated: set[int] = set()
    for optimizer in optimizers:
        groups = getattr(optimizer, "param_groups", None)
        if groups is None:
            return []
        updated.update(id(weight) for group in groups for weight in group["params"])
    found: dict[int, tuple[str, Any]] = {}
    trained = 0
    for model in models:
        for name, weight in model.named_parameters():
            trained += id(weight) in updated
            if id(weight) not in updated and weight.requires_grad and weight.grad is not None:
                found[id(weight)] = (name, weight)
    # A model of which nothing is trained is a critic's or a teacher's: another step trains it.
    return list(found.values()) if trained else []


@contextmanager
def without_gradients(weights: Sequence[Any]) -> Iterator[None]:
    """No gradient is computed for these; what they hold from before stays."""
    for weight in weights:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(True)
