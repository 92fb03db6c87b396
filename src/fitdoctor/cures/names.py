"""Which variables a piece of code binds, and where else they are used."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from fitdoctor.cures.draft import Draft

_WITH_TARGET = (
    cst.AssignTarget,
    cst.AnnAssign,
    cst.AugAssign,
    cst.NamedExpr,
    cst.For,
    cst.CompFor,
    cst.Del,
)
_WITH_NAME = (
    cst.AsName,
    cst.FunctionDef,
    cst.ClassDef,
    cst.Param,
    cst.NameItem,
    cst.ImportAlias,
)


def names_in(draft: Draft, node: cst.CSTNode) -> list[cst.Name]:
    """The variables that a node mentions; names of attributes and keywords are none."""
    return [
        name
        for name in draft.nodes(cst.Name)
        if (name is node or node in draft.ancestors(name)) and _is_variable(draft, name)
    ]


def _is_variable(draft: Draft, name: cst.Name) -> bool:
    parent = draft.parent(name)
    if isinstance(parent, cst.Attribute):
        return parent.value is name
    return not (
        isinstance(parent, cst.Arg | cst.Param) and getattr(parent, "keyword", None) is name
    )


def bound_in(draft: Draft, node: cst.CSTNode) -> set[str]:
    """The variables that are given a value inside a node, in any way."""
    return {name.value for name in names_in(draft, node) if is_bound_here(draft, name)}


def is_bound_here(draft: Draft, name: cst.Name) -> bool:
    """Whether this mention of a variable gives it a value."""
    inner: cst.CSTNode = name
    for outer in draft.ancestors(name):
        if isinstance(outer, cst.Tuple | cst.List | cst.Element | cst.StarredElement):
            inner = outer
            continue
        return any(inner is target for target in _targets(outer))
    return False


def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode | None]:
    if isinstance(node, _WITH_TARGET):
        yield node.target
    elif isinstance(node, _WITH_NAME):
        yield node.name
