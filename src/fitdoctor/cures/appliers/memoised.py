"""A method that keeps what it returned for its arguments."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import with_names
from fitdoctor.cures.statements import decorator_above, functions_at
from fitdoctor.findings.edits import FUNCTOOLS, Memoise

_DECORATOR = "functools.cache"
# Methods that change a list, set or dict in place.
_CHANGING = ("append", "extend", "insert", "pop", "popleft", "add", "remove", "update", "clear")


@applied.register
def memoise(edit: Memoise, draft: Draft) -> Draft:
    """Put `@functools.cache` above the method."""
    method = _method(draft, edit)
    changed, decorator = with_names(draft, method, _DECORATOR, (FUNCTOOLS,))
    for one in method.decorators:
        code = draft.code(one.decorator)
        if code in (decorator, _DECORATOR):
            raise AlreadyThere(f"{edit.method} is decorated with {code}")
        raise DeclinedEdit(f"{edit.method} is decorated with {code[:40]}")
    _refuse_traces(draft, method)
    draft, method = changed, _method(changed, edit)
    return draft.spliced(decorator_above(draft, method, decorator))


def _method(draft: Draft, edit: Memoise) -> cst.FunctionDef:
    for function in functions_at(draft, edit.where.line):
        class_ = draft.parent(draft.parent(function) or function)
        is_method = function.asynchronous is None and isinstance(class_, cst.ClassDef)
        if function.name.value == edit.method and is_method:
            return function
    raise DeclinedEdit(f"no method {edit.method} begins at line {edit.where.line}")


def _refuse_traces(draft: Draft, method: cst.FunctionDef) -> None:
    """Decline what leaves a trace outside the method, which a second call would miss."""
    if m.findall(method, m.Global() | m.Nonlocal()):
        raise DeclinedEdit(f"{method.name.value} assigns to variables outside it")
    if m.findall(method, m.Call(func=m.Name("print")) | m.Yield()):
        raise DeclinedEdit(f"{method.name.value} prints, or yields")
    if not method.params.params:
        raise DeclinedEdit(f"{method.name.value} takes no object")
    own = method.params.params[0].name.value
    for name in draft.nodes(cst.Name):
        is_own = name.value == own and method in draft.ancestors(name)
        if is_own and _is_changed(draft, name):
            line = draft.lines(name).start
            raise DeclinedEdit(f"{method.name.value} changes its object at line {line}")


def _is_changed(draft: Draft, name: cst.Name) -> bool:
    """Whether `self.x = …`, `self.x[i] = …`, `self.x += …` or `self.x.append(…)` is done."""
    inner: cst.CSTNode = name
    for outer in draft.ancestors(name):
        is_part = isinstance(outer, cst.Attribute | cst.Subscript) and outer.value is inner
        if is_part or isinstance(outer, cst.Tuple | cst.List | cst.Element):
            inner = outer
        elif isinstance(outer, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.Del):
            return inner is not name and outer.target is inner
        elif isinstance(outer, cst.Call) and outer.func is inner:
            return m.matches(
                inner, m.Attribute(value=m.Attribute(), attr=m.OneOf(*map(m.Name, _CHANGING)))
            )
        else:
            return False
    return False
