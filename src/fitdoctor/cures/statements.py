"""Statements and functions: which one a node is in, what is around it, what to put before it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import libcst as cst

from fitdoctor.cures.draft import DeclinedEdit, Draft, Splice

_Loop = cst.For | cst.While
_Scope = cst.FunctionDef | cst.Lambda | cst.ClassDef | cst.Module


def statement_of(draft: Draft, node: cst.CSTNode) -> cst.BaseStatement:
    """The statement, on a line of its own, that a node is in.

    Raises:
        DeclinedEdit: It shares its line with the head of a block.
    """
    for one in (node, *draft.ancestors(node)):
        if isinstance(one, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            parent = draft.parent(one)
            if not isinstance(parent, cst.IndentedBlock | cst.Module):
                raise DeclinedEdit("the statement is in a branch of another")
            return one
        if isinstance(one, cst.SimpleStatementSuite):
            raise DeclinedEdit("the statement shares its line with the head of a block")
    raise DeclinedEdit("the statement was not found")


def next_statement(draft: Draft, statement: cst.CSTNode) -> cst.CSTNode | None:
    """The statement below, in the same block."""
    block = draft.parent(statement)
    body = list(block.body) if isinstance(block, cst.IndentedBlock | cst.Module) else []
    below = (two for one, two in itertools.pairwise(body) if one is statement)
    return next(below, None)


def assigned_name(statement: cst.CSTNode, value: cst.CSTNode | None) -> str | None:
    """The one variable that a statement assigns to; with `value`, only if it assigns just that."""
    small = _alone(statement)
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    if not isinstance(target, cst.Name) or value not in (None, small.value):
        return None
    return target.value


def is_only(statement: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a statement is a call, and nothing else is on its line."""
    small = _alone(statement)
    return isinstance(small, cst.Expr) and small.value is call


def _alone(statement: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """What a line does, if that is one thing."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        return statement.body[0]
    return None


def put_before(draft: Draft, node: cst.CSTNode, lines: Iterable[str]) -> Draft:
    """New statements before the one that a node is in."""
    start = draft.start(statement_of(draft, node))
    indent = draft.indent_at(start)
    if indent is None:
        raise DeclinedEdit("another statement is on the same line")
    text = "".join(f"{indent}{line}{draft.newline}" for line in lines)
    begin = start - len(indent)
    return draft.spliced(Splice(begin, begin, text))


def loops_around(draft: Draft, node: cst.CSTNode) -> list[_Loop]:
    """The loops that a node is in, the nearest first, up to the function it is in."""
    found: list[_Loop] = []
    inner = node
    for one in draft.ancestors(node):
        if isinstance(one, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            break
        if isinstance(one, _Loop) and inner is one.body:
            found.append(one)
        inner = one
    return found


def scope_of(draft: Draft, node: cst.CSTNode) -> _Scope:
    """The function, class or module whose variables a node sees as its own."""
    around = (one for one in draft.ancestors(node) if isinstance(one, _Scope))
    return next(around, draft.module)


def functions_at(draft: Draft, recorded_line: int) -> list[cst.FunctionDef]:
    """The functions whose `def`, or one of whose decorators, begins at a recorded line."""
    line = draft.line_now(recorded_line)
    return [
        function
        for function in draft.nodes(cst.FunctionDef)
        if line in {draft.lines(one).start for one in (*function.decorators, function)}
    ]


def parameter_names(function: cst.FunctionDef) -> list[str]:
    """The parameters that may be given by position, in order."""
    return [one.name.value for one in (*function.params.posonly_params, *function.params.params)]


def decorator_above(draft: Draft, function: cst.FunctionDef, decorator: str) -> Splice:
    """The splice that decorates a function, above the decorators that it has.

    Raises:
        DeclinedEdit: Something else is on its line.
    """
    start = draft.start(function.decorators[0] if function.decorators else function)
    indent = draft.indent_at(start)
    if indent is None:
        raise DeclinedEdit(f"{function.name.value} does not begin its line")
    begin = start - len(indent)
    return Splice(begin, begin, f"{indent}@{decorator}{draft.newline}")
