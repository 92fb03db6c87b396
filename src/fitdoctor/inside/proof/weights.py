"""The weights of the models that were trained, as arrays by name."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.proof.fingerprint import as_array
from fitdoctor.inside.seams.not_available import NotAvailable


def weights_now(model: Any, result: Any) -> dict[str, Any]:
    """The weights of a model between two steps, or after its call.

    Args:
        model: the Keras model.
        result: what its step function returned last; on JAX the state is in there, and the
            model's own variables are empty until the fit ends. None after the call.
    """
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    if result is None or not _keeps_state_outside(model):
        return _named((variable.path, _value(variable)) for variable in variables)
    if not isinstance(result, tuple) or len(result) != 2:
        raise NotAvailable("the step did not return its state")
    trainable, others = result[1][0], result[1][1]
    values = [*trainable, *others]
    if len(values) != len(variables):
        raise NotAvailable("the step's state does not fit the model's variables")
    paths = [variable.path for variable in variables]
    return _named((p, as_array(v)) for p, v in zip(paths, values, strict=True))


def models_found() -> list[Any]:
    """Keras models that exist and are no part of another; for loops that no call shows."""
    keras = sys.modules.get("keras")
    if keras is None:
        raise NotAvailable("the script uses no Keras model")
    models = [one for one in gc.get_objects() if isinstance(one, keras.Model)]
    inner: set[int] = set()
    for model in models:
        inner.update(id(layer) for layer in model._flatten_layers(include_self=False))
    return sorted((m for m in models if id(m) not in inner and m.built), key=lambda m: m.name)


def _keeps_state_outside(model: Any) -> bool:
    return getattr(model, "_jax_state_synced", True) is False


def _value(variable: Any) -> Any:
    return as_array(sys.modules["keras"].ops.convert_to_numpy(variable))


def _named(pairs: Any) -> dict[str, Any]:
    """Two layers may share a name: the second one's weights get a number."""
    found: dict[str, Any] = {}
    for path, value in pairs:
        name, number = path, 1
        while name in found:
            number += 1
            name = f"{path}~{number}"
        found[name] = value
    return found


class HandedWeights:
    """The lists of weights that went by last."""

    def __init__(self) -> None:
        self._updated: Any = None

    def watch(self, recorder: Recorder, module: ModuleType) -> None:
        """Patch the optimizers' public `stateless_apply`; the module is that of their base."""

        def stateless_apply(
            original: Callable[..., Any],
            optimizer: Any,
            optimizer_variables: Any,
            grads: Any,
            trainable_variables: Any,
        ) -> Any:
            if recorder.backend == "jax" and not any(map(_is_traced, trainable_variables)):
                self._updated = trainable_variables
            return original(optimizer, optimizer_variables, grads, trainable_variables)

        recorder.patches.around(module.BaseOptimizer, "stateless_apply", stateless_apply)

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
