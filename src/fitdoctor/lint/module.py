"""A source file, parsed once: its tree with parents, what it imports, what it asks to ignore."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

_IGNORE = re.compile(r"#\s*fitdoctor:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")
FRAMEWORKS = ("keras", "tensorflow")
TF_FUNCTION = "tensorflow.function"
Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class LintFinding:
    """One place that will be slow, or wrong, on today's versions."""

    file: str
    line: int
    column: int  # from 1
    code: str
    name: str
    message: str
    cell: int | None = None  # of a notebook, from 1; lines then count from the cell's first

    @property
    def place(self) -> str:
        """`file:line:column`, with the cell where there is one."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}:{self.column}"


@dataclass
class Module:
    """A parsed file; patterns ask it, and never look at the text themselves."""

    path: str
    tree: ast.Module
    ignored: dict[int, frozenset[str]]  # by line; an empty set means every code
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    @cached_property
    def imported(self) -> dict[str, str]:
        """Local names of imported modules and objects, with their full names."""
        names: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    full = alias.name if alias.asname else alias.name.split(".")[0]
                    names[alias.asname or full] = full
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return names

    @property
    def uses_keras(self) -> bool:
        """Whether the file imports Keras 3 or TensorFlow; `tf_keras` is Keras 2."""
        return any(full.split(".")[0] in FRAMEWORKS for full in self.imported.values())

    @cached_property
    def backend(self) -> str | None:
        """The backend that the file itself asks for, as `os.environ["KERAS_BACKEND"] = ...`."""
        for node in self.nodes(ast.Assign):
            if isinstance(node.value, ast.Constant):
                keys = [t.slice for t in node.targets if isinstance(t, ast.Subscript)]
                if any(isinstance(k, ast.Constant) and k.value == "KERAS_BACKEND" for k in keys):
                    return str(node.value.value)
        return None

    def dotted(self, node: ast.AST) -> str:
        """`tf.data.Dataset` with its import resolved, empty where it is no dotted name."""
        first, _, rest = self.written(node).partition(".")
        found = self.imported.get(first, first)
        return f"{found}.{rest}" if rest else found

    def written(self, node: ast.AST) -> str:
        """`self.model` as it is written, empty where it is no dotted name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""

    def calls(self, *methods: str) -> Iterator[tuple[ast.Call, ast.Attribute]]:
        """Every `something.method(...)` of these names."""
        for node in self.nodes(ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                yield node, node.func

    def nodes(self, kind: type[Node]) -> Iterator[Node]:
        """Every node of a kind."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kind))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def loop_around(self, node: ast.AST) -> ast.For | ast.While | None:
        """The innermost loop whose body a node is in; a function's body is a new start."""
        inner = node
        for outer in self.ancestors(node):
            if isinstance(outer, Function | ast.Lambda | ast.ClassDef):
                return None
            if isinstance(outer, ast.For | ast.While) and inner in outer.body:
                return outer
            inner = outer
        return None

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function that a node is in, or the module."""
        return next((a for a in self.ancestors(node) if isinstance(a, Function)), self.tree)

    def assigned(self, name: str, before: ast.AST, scope: ast.AST) -> ast.expr | None:
        """The value that a name was given last before a node in a scope."""
        line = getattr(before, "lineno", 0)
        assignments = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign)
            and node.lineno < line
            and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
            and not self._is_in_other_branch(node, before)
        ]
        last = max(assignments, key=lambda node: node.lineno, default=None)
        return last.value if last is not None else None

    def _is_in_other_branch(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two nodes are in the two halves of one `if`, so that only one of them runs."""
        halves = dict(self._halves(one))
        return any(halves.get(part, half) != half for part, half in self._halves(other))

    def _halves(self, node: ast.AST) -> Iterator[tuple[ast.If, str]]:
        inner = node
        for outer in self.ancestors(node):
            if isinstance(outer, ast.If):
                yield outer, "else" if inner in outer.orelse else "then"
            inner = outer

    def functions(self) -> dict[str, Function]:
        """Every function of the file by its name."""
        return {n.name: n for n in ast.walk(self.tree) if isinstance(n, Function)}


def parse(path: str, text: str) -> Module:
    """Parse a file's text.

    Raises:
        SyntaxError: It is not Python.
    """
    return Module(path, ast.parse(text, filename=path), _ignored_lines(text))


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, if it is given."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def given(call: ast.Call) -> list[ast.expr]:
    """The values of all arguments of a call."""
    return [*call.args, *(k.value for k in call.keywords)]


def tracing(module: Module, function: Function) -> ast.expr | None:
    """The decorator `@tf.function` of a function, with or without arguments, if it has one."""
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.dotted(target) == TF_FUNCTION:
            return decorator
    return None


def is_number(node: ast.AST | None, number: int) -> bool:
    """Whether an expression is this number."""
    return isinstance(node, ast.Constant) and node.value == number and node.value is not True


def is_true(node: ast.AST | None) -> bool:
    """Whether an expression is the constant True."""
    return isinstance(node, ast.Constant) and node.value is True


def _ignored_lines(text: str) -> dict[int, frozenset[str]]:
    ignored: dict[int, frozenset[str]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = _IGNORE.search(token.string) if token.type == tokenize.COMMENT else None
            if match:
                codes = (match.group("codes") or "").split(",")
                found = frozenset(code.strip().upper() for code in codes if code.strip())
                ignored[token.start[0]] = found
    except (tokenize.TokenError, IndentationError):
        return ignored  # the parser says what is wrong
    return ignored
