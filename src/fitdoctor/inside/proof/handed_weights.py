"""Weights that a JAX loop hands on from step to step, beside the variables of its model.

Keras's stateless calls leave a model's variables as they were: what such a loop trains is in lists
of its own. They are seen where it gives them to the optimizer, or to a jitted step.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.proof.fingerprint import as_array
from fitdoctor.inside.seams.not_available import NotAvailable


class HandedWeights:
    """The lists of weights that went by last."""

    def __init__(self) -> None:
        self._updated: Any = None

    def watch(self, recorder: Recorder, module: ModuleType) -> None:
        """Patch the optimizers' public `stateless_apply`; the module is that of their base."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def stateless_apply(
                optimizer: Any, optimizer_variables: Any, grads: Any, trainable_variables: Any
            ) -> Any:
                if recorder.backend == "jax" and not any(map(_is_traced, trainable_variables)):
                    self._updated = trainable_variables
                return original(optimizer, optimizer_variables, grads, trainable_variables)

            return stateless_apply

        recorder.patches.replace(module.BaseOptimizer, "stateless_apply", make)

    def of(self, models: list[Any], call: tuple[Any, Any, Any] | None) -> dict[str, Any]:
        """The weights of these models by name, as far as they were seen.

        Args:
            models: built Keras models.
            call: the jitted function that the loop called last, with its arguments.

        Raises:
            NotAvailable: they were seen, and are given away.
        """
        found: dict[str, Any] = {}
        for model in models:
            variables = model.trainable_variables
            shapes = [tuple(variable.shape) for variable in variables]
            values = next(self._fitting(shapes, call), None) if shapes else None
            for variable, value in zip(variables, values or (), strict=bool(values)):
                found[f"{model.name}:{variable.path}"] = _read(value)
        return found

    def _fitting(self, shapes: list[tuple[int, ...]], call: Any) -> Iterator[Any]:
        def fits(node: Any) -> bool:
            return (
                isinstance(node, list | tuple)
                and len(node) == len(shapes)
                and all(
                    getattr(one, "shape", None) == s for one, s in zip(node, shapes, strict=True)
                )
            )

        given = [self._updated, call[1:] if call is not None else None]
        leaves = sys.modules["jax"].tree_util.tree_leaves(given, is_leaf=fits)
        return (leaf for leaf in leaves if fits(leaf))


def _is_traced(value: Any) -> bool:
    return isinstance(value, sys.modules["jax"].core.Tracer)


def _read(value: Any) -> Any:
    array = as_array(value)
    if array is None:  # JAX has taken its memory for the step's result
        raise NotAvailable("the step's weights are given away (donated) before its end")
    return array
