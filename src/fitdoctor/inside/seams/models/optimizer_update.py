"""The optimizer's update of all weights by itself, compiled as it would be inside the step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable

Values = dict[int, Any]  # variables' values by id, where the variables hold none (JAX in a fit)


def optimizer_update(backend: str, model: Any, values: Values) -> Callable[[], Any]:
    """A function that updates every trainable variable once, with gradients of zero.

    It changes weights and the optimizer's state, so state has to be put back afterwards.

    Raises:
        NotAvailable: there is nothing to update.
    """
    variables = list(model.trainable_variables)
    if not variables or getattr(model, "optimizer", None) is None:
        raise NotAvailable("the model has no optimizer, or nothing to train")
    makers = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
    return makers[backend](model.optimizer, variables, values)


def _tensorflow(optimizer: Any, variables: list[Any], values: Values) -> Callable[[], Any]:
    tf = sys.modules["tensorflow"]
    gradients = [tf.zeros(variable.shape, variable.dtype) for variable in variables]

    @tf.function(jit_compile=False, autograph=False)  # type: ignore[untyped-decorator]
    def update(given: Any) -> None:
        optimizer.apply(given, variables)

    return lambda: update(gradients)


def _jax(optimizer: Any, variables: list[Any], values: Values) -> Callable[[], Any]:
    jax = sys.modules["jax"]
    weights = [values.get(id(variable), variable._value) for variable in variables]
    slots = [values.get(id(variable), variable._value) for variable in optimizer.variables]
    if any(value is None for value in (*weights, *slots)):
        raise NotAvailable("the optimizer's state is not at hand while the fit runs")
    gradients = [jax.numpy.zeros_like(weight) for weight in weights]

    def update(state: Any, given: Any, trained: Any) -> Any:
        return optimizer.stateless_apply(state, given, trained)

    compiled = jax.jit(update)
    return lambda: compiled(slots, gradients, weights)


def _torch(optimizer: Any, variables: list[Any], values: Values) -> Callable[[], Any]:
    torch = sys.modules["torch"]
    gradients = [torch.zeros_like(variable.value) for variable in variables]

    def update() -> Any:
        with torch.no_grad():
            optimizer.apply(gradients, variables)
        return variables[0].value

    return update
