"""`evaluate` or `save` after every batch: 46 and 10 times slower (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module
from fitdoctor.lint.pattern import Match, pattern

_HOOKS = frozenset({"on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin"})


@pattern(
    code="CB001",
    name="per-batch-callback",
    evidence="some 40 times slower with evaluate, 6 to 10 times with save_weights",
    measured_by="per-batch-work",
    example=(
        "class Check(keras.callbacks.Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        self.model.evaluate(x, y)"
    ),
)
def find(module: Module) -> Iterator[Match]:
    """Work on the whole model in a batch hook, with no condition around it."""
    for call, function in module.calls("evaluate", "predict", "save", "save_weights"):
        if module.dotted(function.value).split(".")[-1] != "model":
            continue
        # Every so many batches: measured by `run`, not judged here.
        kinds = Function | ast.If | ast.IfExp
        around = next((one for one in module.ancestors(call) if isinstance(one, kinds)), None)
        if isinstance(around, Function) and around.name in _HOOKS:
            message = f"{function.attr} runs after every batch; "
            yield call, message + "do it every so many batches, or once an epoch"
