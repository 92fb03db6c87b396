"""`compile` of one model again and again: 0.43 s each, and the optimizer forgets (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Module, given
from fitdoctor.lint.pattern import Match, pattern

_OPTIMIZERS = frozenset({"adam", "adamw", "sgd", "rmsprop", "adagrad", "adamax", "nadam", "lion"})
# What people do with a model without making it another one.
_USUAL = frozenset({
    "compile", "fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch",
    "save", "save_weights", "load_weights", "get_weights", "set_weights", "summary", "optimizer",
    "history", "reset_metrics", "reset_states", "metrics", "metrics_names", "stop_training",
    "to_json", "weights", "trainable_weights",
})  # fmt: skip
_KERAS_KEYWORDS = frozenset({"optimizer", "loss", "metrics", "jit_compile", "steps_per_execution"})


@pattern(
    code="CO001",
    name="retracing",
    evidence="0.43 s for each compile of a small network on TensorFlow",
    measured_by="recreated-dataset",
    example='for epoch in range(10):\n    model.compile("adam", "mse")\n    model.fit(x, y)',
)
def find(module: Module) -> Iterator[Match]:
    """A model that is made outside the loop is compiled inside it."""
    for call, function in module.calls("compile"):
        loop, model = module.loop_around(call), module.written(function.value)
        if loop is None or not model or not _is_keras(module, call):
            continue
        own = _assigned_in(module, loop)
        if not _is_needed(module, call, model, loop, own) and not _prefixes(model) & own:
            yield (
                call,
                f"{model} is compiled in every round, which traces its step again and resets the "
                f"optimizer; compile once, and set {model}.optimizer.learning_rate",
            )


def _is_needed(module: Module, call: ast.Call, model: str, loop: ast.AST, own: set[str]) -> bool:
    """Whether the loop changes what only a new compile can take up: layers, a loss."""
    if any(isinstance(value, ast.Name) and value.id in own for value in given(call)):
        return True
    return any(
        (isinstance(node.ctx, ast.Store) and node.attr == "trainable")
        or (module.written(node.value) == model and node.attr not in _USUAL)
        for node in ast.walk(loop)
        if isinstance(node, ast.Attribute)
    )


def _is_keras(module: Module, call: ast.Call) -> bool:
    """By its keywords, or by an optimizer as its first argument; `re.compile` has neither."""
    if any(k.arg in _KERAS_KEYWORDS for k in call.keywords):
        return True
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call):
        return "optimizers" in module.dotted(first.func).split(".")
    return isinstance(first, ast.Constant) and first.value in _OPTIMIZERS


def _prefixes(dotted: str) -> set[str]:
    """`trainer` and `trainer.model` of `trainer.model`: who makes the first makes the second."""
    parts = dotted.split(".")
    return {".".join(parts[: count + 1]) for count in range(len(parts))}


def _assigned_in(module: Module, loop: ast.AST) -> set[str]:
    """Names and attributes, as in `self.model`, that the loop creates again."""
    return {
        module.written(node)
        for node in ast.walk(loop)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
