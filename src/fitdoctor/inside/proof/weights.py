"""The weights of the models that were trained, as arrays by name."""

from __future__ import annotations

import gc
import sys
from typing import Any

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
