"""The user's model on the frozen batch: its forward pass, its loss, and the values it has now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.seams.backends import batches


def forward_pass(context: Context, batch: Any) -> Callable[[], Any]:
    """The model's forward pass on a batch; on JAX with the state of the running fit."""
    model, result = context.fit.model, context.result
    x, _, _ = sys.modules["keras"].utils.unpack_x_y_sample_weight(batch)
    if context.backend.name == "jax" and isinstance(result, tuple):
        trainable, fixed = result[1][0], result[1][1]
        return lambda: model.stateless_call(trainable, fixed, x)[0]
    return lambda: model(x, training=False)


def forward_with_loss(context: Context) -> Callable[[], Any]:
    """What the forward pass gives, and the loss of it."""
    model, forward = context.fit.model, forward_pass(context, context.batch)
    x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(context.batch)

    def both() -> Any:
        predicted = forward()
        return [predicted, model.compute_loss(x, y, predicted, weight)]

    return both


def variable_values(context: Context) -> dict[int, Any]:
    """By the variables' ids: on JAX the state of a running fit is in its last result."""
    model, result = context.fit.model, context.result
    if context.backend.name != "jax" or not isinstance(result, tuple):
        return {}
    state = result[1]
    pairs = [
        *zip(model.trainable_variables, state[0], strict=False),
        *zip(model.non_trainable_variables, state[1], strict=False),
    ]
    return {id(variable): value for variable, value in pairs}


def loss_of(context: Context) -> Any:
    """What compile() was given as the loss."""
    model = context.fit.model
    given = context.recorder.compiled_with.get(model) or {}
    return given.get("loss") or getattr(model, "loss", None)


def has_users_loss(context: Context) -> bool:
    """Whether the model is compiled with a loss of the user's own."""
    return any(is_users_code(one, "call") for one in batches.leaves(loss_of(context)))


def is_users_code(given: Any, method: str) -> bool:
    """Whether a function, or this method of an object, is written by the user."""
    code = getattr(getattr(type(given), method, given), "__code__", None)
    return code is not None and is_user_file(code.co_filename)
