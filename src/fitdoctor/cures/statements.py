"""Whole statements: which one a node is in, what is around it, and what to put before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    if not isinstance(block, cst.IndentedBlock | cst.Module):
        return None
    body: Sequence[cst.CSTNode] = block.body
    place = list(body).index(statement)
    return body[place + 1] if place + 1 < len(body) else None


def assigned_name(statement: cst.CSTNode, value: cst.CSTNode | None) -> str | None:
    """The one variable that a statement assigns to; with `value`, only if it assigns just that."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    if value is not None and small.value is not value:
        return None
    return target.value if isinstance(target, cst.Name) else None


def is_only(statement: cst.CSTNode, call: cst.Call) -> bool:
    """Whether a statement is a call, and nothing else is on its line."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    return isinstance(small, cst.Expr) and small.value is call


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
        if isinstance(one, cst.For | cst.While) and inner is one.body:
            found.append(one)
        inner = one
    return found


def scope_of(draft: Draft, node: cst.CSTNode) -> _Scope:
    """The function, class or module whose variables a node sees as its own."""
    for one in draft.ancestors(node):
        if isinstance(one, cst.FunctionDef | cst.Lambda | cst.ClassDef | cst.Module):
            return one
    return draft.module
