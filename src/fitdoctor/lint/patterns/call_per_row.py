"""`predict` or `fit` for one row in a loop: 38 to 50 ms a call on TensorFlow (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Module, is_number, keyword
from fitdoctor.lint.pattern import Match, pattern

_ADVICE = {
    "predict": "predict_on_batch costs a hundredth, one predict for all rows less still",
    "fit": "train_on_batch costs a fraction on TensorFlow and torch, larger batches less still",
    "evaluate": "test_on_batch costs a fraction, one evaluate for all rows less still",
}


@pattern(
    code="HO001",
    name="call-per-sample",
    evidence="38 to 50 ms a call on TensorFlow, 1 to 2 ms on JAX and torch",
    measured_by="predict-rows",
    example="for row in rows:\n    model.predict(row[None])",
)
def find(module: Module) -> Iterator[Match]:
    """The call costs far more than the row."""
    for call, function in module.calls(*_ADVICE):
        if module.loop_around(call) is None or not call.args:
            continue
        row = call.args[0]
        if isinstance(row, ast.Name):
            row = module.assigned(row.id, call, module.scope_of(call)) or row
        if is_one_row(module, row):
            advice = _ADVICE[function.attr]
            yield call, f"{function.attr} is called for one row at a time; {advice}"


def is_one_row(module: Module, node: ast.expr) -> bool:
    """`x[None]`, `np.expand_dims(x, 0)`, `x.reshape(1, -1)`, `np.array([x])`, `x[i:i + 1]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        first = node.args[0] if node.args else None
        if method in ("astype", "numpy"):
            return is_one_row(module, node.func.value)
        if method == "reshape":
            sizes = first.elts if isinstance(first, ast.Tuple) else node.args
            return bool(sizes) and is_number(sizes[0], 1)
        if method == "expand_dims":
            axis = node.args[1] if len(node.args) > 1 else None
            return is_number(keyword(node, "axis") or axis, 0)
        if method in ("array", "asarray") and isinstance(first, ast.List):
            return len(first.elts) == 1 and not isinstance(first.elts[0], ast.Starred)
    return isinstance(node, ast.Subscript) and _adds_an_axis(module, node.slice)


def _adds_an_axis(module: Module, index: ast.expr) -> bool:
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Slice):
        return _is_one_wide(first)
    is_none = isinstance(first, ast.Constant) and first.value is None
    return is_none or module.dotted(first).endswith(".newaxis")


def _is_one_wide(part: ast.Slice) -> bool:
    """`i:i + 1` with the same `i`."""
    end = part.upper
    if part.lower is None or not isinstance(end, ast.BinOp) or not isinstance(end.op, ast.Add):
        return False
    return ast.dump(end.left) == ast.dump(part.lower) and is_number(end.right, 1)
