"""Which of the user's functions make a loop's data: their arrays go into the step.

`xb, yb = get_batch(i)` reads no iterator. It may be data if it returns arrays; it is data if the
names it is assigned to are used where the step was seen.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

MOST_ITEMS = 16
# Packages whose objects with a shape are arrays.
ARRAYS = frozenset({"numpy", "torch", "tensorflow", "jax", "jaxlib"})


def is_data(value: Any) -> bool:
    """Whether a function returned arrays: NumPy's, or tensors that no gradient leads to."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return any(is_data(one) for one in value[:MOST_ITEMS])
    kind = type(value).__module__.partition(".")[0]
    if kind not in ARRAYS or not getattr(value, "shape", ()):
        return False
    return getattr(value, "grad_fn", None) is None


def assigned_data(frame: FrameType) -> bool:
    """Whether the statement that a frame is at assigns names that hold arrays, from last time."""
    code, line = frame.f_code, frame.f_lineno
    statement = next((s for s in _statements(code) if s.lineno <= line <= _end(s)), None)
    if statement is None:
        return False
    names = frame.f_locals
    return any(is_data(names.get(name)) for name in _targets(statement))


def flows_into(code: CodeType, line: int, step_lines: frozenset[int]) -> bool:
    """Whether a name that is assigned at `line` is used at one of the step's lines.

    Names that are made of it on the way, as `x = torch.from_numpy(xb)`, count as well.
    """
    statements = sorted(_statements(code), key=lambda one: one.lineno)
    first = next((one for one in statements if one.lineno <= line <= _end(one)), None)
    if first is None:
        return False
    names = _targets(first)
    for statement in statements:
        if statement.lineno <= line or not names & _used(statement):
            continue
        if any(statement.lineno <= one <= _end(statement) for one in step_lines):
            return True
        names |= _targets(statement)
    return False


@functools.lru_cache(maxsize=64)
def _statements(code: CodeType) -> tuple[ast.stmt, ...]:
    """The simple statements of a function, or of a module."""
    return tuple(_found_statements(code))


def _found_statements(code: CodeType) -> Iterator[ast.stmt]:
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    scope: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorated = [one.lineno for one in node.decorator_list]
            if code.co_firstlineno in (node.lineno, *decorated) and node.name == code.co_name:
                scope = node
    for node in ast.walk(scope):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _targets(statement: ast.stmt) -> set[str]:
    stores = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
    return {one.id for one in stores if isinstance(one.ctx, ast.Store)}


def _used(statement: ast.stmt) -> set[str]:
    loads = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
    return {one.id for one in loads if isinstance(one.ctx, ast.Load)}
