"""`evaluate` or `save` after every batch: 46 and 10 times slower (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module
from fitdoctor.lint.pattern import Match

_HOOKS = frozenset({"on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin"})
_WORK = frozenset({"evaluate", "predict", "save", "save_weights"})


class WorkPerBatch:
    """Work on the whole model in a batch hook, with no condition around it."""

    code = "CB001"
    name = "per-batch-callback"
    evidence = "some 40 times slower with evaluate, 6 to 10 times with save_weights"
    measured_by = "per-batch-work"
    example = (
        "class Check(keras.callbacks.Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        self.model.evaluate(x, y)"
    )

    def find(self, module: Module) -> Iterator[Match]:
        """`self.model.evaluate(…)` and the like in a batch hook."""
        for call, function in module.calls(*_WORK):
            owner = module.dotted(function.value)
            if owner.split(".")[-1] != "model":
                continue
            for outer in module.ancestors(call):
                if isinstance(outer, ast.If | ast.IfExp):
                    break  # every so many batches: measured by `run`, not judged here
                if isinstance(outer, Function):
                    if outer.name in _HOOKS:
                        yield (
                            call,
                            f"{function.attr} runs after every batch; do it every so many "
                            "batches, or once an epoch",
                        )
                    break


PATTERN = WorkPerBatch()
