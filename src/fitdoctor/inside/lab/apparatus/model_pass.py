"""The user's model on the frozen batch: its forward pass, its loss, and the values it has now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.seams.backends import batches


def forward_pass(context: Context, rows: int | None = None) -> Callable[[], Any]:
    """The model's forward pass on the frozen batch, or on some rows of it.

    On JAX with the state of the running fit.
    """
    step = context.step
    model, inputs, values = step.model, step.inputs, step.values
    if rows is not None:
        inputs = context.backend.cut(inputs, rows)
    if values:
        trainable = [values.get(id(v), v._value) for v in model.trainable_variables]
        fixed = [values.get(id(v), v._value) for v in model.non_trainable_variables]
        return lambda: model.stateless_call(trainable, fixed, *inputs)[0]
    return lambda: model(*inputs, training=False)


def forward_with_loss(context: Context) -> Callable[[], Any]:
    """What the forward pass gives, and the loss of it."""
    model, forward = context.fit.model, forward_pass(context)
    x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(context.batch)

    def both() -> Any:
        predicted = forward()
        return [predicted, model.compute_loss(x, y, predicted, weight)]

    return both


def loss_of(context: Context) -> Any:
    """What compile() was given as the loss; None of a loop."""
    model = context.model
    given = context.recorder.compiled_with.get(model) or {}
    return given.get("loss") or getattr(model, "loss", None)


def has_users_loss(context: Context) -> bool:
    """Whether the model is compiled with a loss of the user's own."""
    return any(is_users_code(one, "call") for one in batches.leaves(loss_of(context)))


def is_users_code(given: Any, method: str) -> bool:
    """Whether a function, or this method of an object, is written by the user."""
    code = getattr(getattr(type(given), method, given), "__code__", None)
    return code is not None and is_user_file(code.co_filename)
