"""The names under which a file knows a library, and an import where it does not know it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst
from libcst.helpers import get_full_name_for_node

from fitdoctor.cures.calls import find_call
from fitdoctor.cures.draft import DeclinedEdit, Draft, Splice

_FORMS = re.compile(r"import ([\w.]+)(?: as (\w+))?")


def with_names(
    draft: Draft, node: cst.CSTNode, text: str, imports: Iterable[str]
) -> tuple[Draft, str]:
    """Source text in the names that hold at a node, and the draft that has them.

    Args:
        draft: The file.
        node: Where the text is to go.
        text: Source in the names of `imports`.
        imports: Statements such as `import tensorflow as tf`.
    """
    for statement in imports:
        module, name = _parsed(statement)
        if not re.search(rf"(?<![\w.]){name}\.", text):
            continue
        known = dict(_bindings(draft, node))
        renamed = _renamed(text, module, name, known)
        if renamed is None:
            draft, name_there = _imported(draft, statement, module, name, known)
            renamed = _renamed(text, module, name, {name_there: module})
        text = renamed if renamed is not None else text
    return draft, text


def call_with_names(
    draft: Draft, recorded_line: int, name: str, text: str, imports: Iterable[str]
) -> tuple[Draft, cst.Call, str]:
    """Source text in the names that hold at a call, and the draft and the call that have them.

    Raises:
        DeclinedEdit: The line does not have one call of this name.
    """
    draft, text = with_names(draft, find_call(draft, recorded_line, name), text, imports)
    return draft, find_call(draft, recorded_line, name), text


def in_known_names(draft: Draft, text: str, statement: str) -> str | None:
    """Source text in the names that the top of a file knows; None where it has none for it.

    `keras` is also what `tf.keras` is.
    """
    module, name = _parsed(statement)
    known: dict[str, str] = {}
    for local, path in _bindings(draft, draft.module):
        known[local] = path.removeprefix("tensorflow.")
        if path == "tensorflow":
            known[f"{local}.keras"] = "keras"
    return _renamed(text, module, name, known)


def _parsed(statement: str) -> tuple[str, str]:
    found = _FORMS.fullmatch(statement)
    if found is None:
        raise ValueError(f"{statement!r} is not of the form `import module as name`")
    return found[1], found[2] or found[1]


def _is_part(module: str, path: str) -> bool:
    return path == module or path.startswith(module + ".")


def _renamed(text: str, module: str, name: str, known: dict[str, str]) -> str | None:
    """`tf.data.AUTOTUNE` in the file's own words: `data.AUTOTUNE`, `tensorflow.data.AUTOTUNE`.

    None where the file has no words for it.
    """
    if known.get(name) == module:
        return text
    mentions = re.compile(rf"(?<![\w.]){name}((?:\.\w+)+)")
    spelled: dict[str, str] = {}
    for found in mentions.finditer(text):
        full = module + found[1]
        fitting = [(path, local) for local, path in known.items() if _is_part(path, full)]
        if not fitting:
            return None
        path, local = max(fitting, key=lambda pair: len(pair[0]))
        spelled[found[0]] = local + full[len(path) :]
    return mentions.sub(lambda found: spelled[found[0]], text)


def _bindings(draft: Draft, node: cst.CSTNode) -> Iterator[tuple[str, str]]:
    """Names that imports bind where the node is: those of the module and of its functions."""
    functions = [one for one in draft.ancestors(node) if isinstance(one, cst.FunctionDef)]
    imports: list[cst.Import | cst.ImportFrom] = [*draft.nodes(cst.Import)]
    for statement in [*imports, *draft.nodes(cst.ImportFrom)]:
        nearest = draft.nearest(statement, cst.FunctionDef)
        if nearest is None or nearest in functions:
            yield from _bound_by(statement)


def _bound_by(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    base = ""
    if isinstance(statement, cst.ImportFrom):
        if statement.relative or statement.module is None:
            return
        base = f"{get_full_name_for_node(statement.module)}."
    if isinstance(statement.names, cst.ImportStar):
        return
    for alias in statement.names:
        path = get_full_name_for_node(alias.name) or ""
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            yield alias.asname.name.value, base + path
        elif base:
            yield path, base + path
        else:
            # `import a.b` binds `a`.
            first = path.split(".")[0]
            yield first, first


def _imported(
    draft: Draft, statement: str, module: str, name: str, known: dict[str, str]
) -> tuple[Draft, str]:
    """The draft with the import added, and the name that it binds."""
    taken = name in known or name in _names_used(draft)
    if taken and name != module:
        statement, name = f"import {module}", module
    elif taken:
        raise DeclinedEdit(f"the name {name} is used for something else")
    offset = after_imports(draft)
    lead = "" if offset == 0 or draft.text[offset - 1] in "\r\n" else draft.newline
    return draft.spliced(Splice(offset, offset, lead + statement + draft.newline)), name


def _names_used(draft: Draft) -> set[str]:
    """Every name in the file except the library of `from library import name`: it binds none."""
    binds_none: set[cst.CSTNode] = set()
    for statement in draft.nodes(cst.ImportFrom):
        part: cst.CSTNode | None = statement.module
        while isinstance(part, cst.Attribute):
            part = part.value
        if part is not None:
            binds_none.add(part)
    return {one.value for one in draft.nodes(cst.Name) if one not in binds_none}


def before_imports(draft: Draft, own: Iterable[str]) -> tuple[int, set[str]]:
    """The offset before the first import of a file that is none of `own`, and those before it.

    What Python demands to come first (a docstring, `from __future__`) stays first.

    Raises:
        DeclinedEdit: The file imports nothing at its top.
    """
    seen: set[str] = set()
    for statement, small in _at_top(draft):
        code = draft.code(small)
        if isinstance(small, cst.ImportFrom) and code.startswith("from __future__"):
            continue
        if code in own:
            seen.add(code)
        elif isinstance(small, cst.Import | cst.ImportFrom):
            return draft.line_start(draft.lines(statement).start), seen
    raise DeclinedEdit("this file imports no library at its top")


def _at_top(draft: Draft) -> Iterator[tuple[cst.CSTNode, cst.BaseSmallStatement]]:
    """The lines before the first block of a file, each with its first statement."""
    for line in draft.module.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return
        yield line, line.body[0]


def after_imports(draft: Draft) -> int:
    """The offset after the last import at the top of the file, or after its docstring."""
    last: cst.CSTNode | None = None
    for number, (statement, small) in enumerate(_at_top(draft)):
        is_docstring = number == 0 and isinstance(small, cst.Expr)
        if isinstance(small, cst.Import | cst.ImportFrom) or is_docstring:
            last = statement
    if last is None:
        return draft.line_start(draft.lines(draft.module.body[0]).start) if draft.module.body else 0
    return draft.after_newline(draft.line_end(draft.end(last)))
