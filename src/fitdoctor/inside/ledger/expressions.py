"""The expression that a frame is at, and whose work it is.

A call into native code leaves no Python frame: `loss.item()` and `np.sort(x)` both look like the
user's own line. The interpreter knows the columns of the instruction, so the text of the call can
be read, and the value that it is made on says whose code runs.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
from types import CodeType, FrameType
from typing import Any, NamedTuple

FRAMEWORKS = frozenset({"keras", "tensorflow", "jax", "jaxlib", "torch"})
# Methods that hand the values of a tensor to Python, which waits for the device.
READING = frozenset({"item", "numpy", "cpu", "tolist", "block_until_ready", "__array__"})
# Functions that do so with what they are given.
READERS = frozenset({"float", "int", "bool", "print", "str", "format"})
MOST_TEXT = 120
_SPACES = re.compile(r"\s+")


class Expression(NamedTuple):
    """What an instruction computes."""

    text: str  # as written, on one line
    package: str | None  # of the value it is called on, or of what it is given
    reads: bool  # it hands the values of a tensor to Python


def expression_at(frame: FrameType) -> Expression | None:
    """The expression that a frame is at; None where the source is not at hand."""
    text = _text_at(frame.f_code, frame.f_lasti)
    tree = _parsed(text) if text else None
    return None if tree is None or text is None else _judged(text, tree, frame)


@functools.lru_cache(maxsize=4096)
def _text_at(code: CodeType, offset: int) -> str | None:
    positions = list(code.co_positions())
    index = offset // 2
    if index < 0 or index >= len(positions):
        return None
    line, last, begin, end = positions[index]
    if line is None or last is None or begin is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(line, last + 1)]
    if not lines or not lines[0]:
        return None
    # From the end: the two may lie on one line.
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    return _SPACES.sub(" ", b" ".join(lines).decode(errors="replace")).strip()


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _judged(text: str, tree: ast.expr, frame: FrameType) -> Expression:
    shown = text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
    if not isinstance(tree, ast.Call):
        return Expression(shown, _package_of_names(tree, frame), reads=False)
    methods, root = _chain(tree.func)
    last = methods[0] if methods else (root.id if isinstance(root, ast.Name) else "")
    if any(name in READING for name in methods[1:]):
        return Expression(shown, "numpy", reads=False)  # already out of the framework
    package = _package_of_names(root, frame)
    if not methods and last in READERS:
        given = [_package_of_names(one, frame) for one in tree.args]
        owner = next((one for one in given if one in FRAMEWORKS), None)
        return Expression(shown, owner or package, reads=owner is not None)
    if package not in FRAMEWORKS and _makes_array(methods):
        given = [_package_of_names(one, frame) for one in tree.args]
        owner = next((one for one in given if one in FRAMEWORKS), None)
        return Expression(shown, owner or package, reads=owner is not None)
    return Expression(shown, package, reads=package in FRAMEWORKS and last in READING)


def _makes_array(methods: list[str]) -> bool:
    """`np.asarray(tensor)` waits for the tensor."""
    return bool(methods) and methods[0] in ("asarray", "array")


def _chain(function: ast.expr) -> tuple[list[str], ast.expr]:
    """The attributes of `a.b().c`, the last first, and the expression they begin with."""
    names: list[str] = []
    while True:
        if isinstance(function, ast.Attribute):
            names.append(function.attr)
            function = function.value
        elif isinstance(function, ast.Call | ast.Subscript):
            function = function.func if isinstance(function, ast.Call) else function.value
        else:
            return names, function


def _package_of_names(tree: ast.expr, frame: FrameType) -> str | None:
    """The framework that a value in an expression belongs to, or else the first package."""
    first: str | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            package = _package(_value(node.id, frame))
            if package in FRAMEWORKS:
                return package
            first = first or package
    return first


def _value(name: str, frame: FrameType) -> Any:
    for names in (frame.f_locals, frame.f_globals):
        if name in names:
            return names[name]
    return None


def _package(value: Any) -> str | None:
    if value is None:
        return None
    name = getattr(value, "__name__", None) if type(value).__name__ == "module" else None
    found = name or type(value).__module__
    # A Keras model is a class of the user's as often as not.
    for base in type(value).__mro__[:-1]:
        package = str(base.__module__).partition(".")[0]
        if package in FRAMEWORKS:
            return package
    return str(found).partition(".")[0]
