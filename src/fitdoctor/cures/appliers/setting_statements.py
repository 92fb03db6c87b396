"""Statements that only set something: an environment variable, an option, a number of threads."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.calls import called_name, is_constant, same_code, text_of
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import after_imports, before_imports, in_known_names
from fitdoctor.findings.edits import AddSetting, DropSetting
from fitdoctor.findings.place import ANYWHERE


@applied.register
def drop_setting(edit: DropSetting, draft: Draft) -> Draft:
    """Take the statements out that make a setting."""
    found, at = _settings(draft, edit.names), " in this file"
    if edit.where.line != ANYWHERE:
        line, at = draft.line_now(edit.where.line), f" at line {edit.where.line}"
        found = [(one, value) for one, value in found if line in draft.lines(one)]
    if not found:
        raise DeclinedEdit(f"{' or '.join(edit.names)} is not set by a statement{at}")
    for statement, value in found:
        if not is_constant(value):
            raise DeclinedEdit(f"the setting comes from `{draft.code(value)[:60]}`")
        if len(statement.body) != 1 or draft.indent_at(draft.start(statement)) is None:
            raise DeclinedEdit("another statement is on the same line")
    return draft.spliced(*(_gone(draft, statement) for statement, _ in found))


@applied.register
def add_setting(edit: AddSetting, draft: Draft) -> Draft:
    """Put a statement at the top of a file, unless the file makes the setting itself."""
    _refuse_set(draft, edit)
    if edit.first:  # after `import os`, before the libraries
        offset, known = before_imports(draft, edit.imports)
        lines = [*(one for one in edit.imports if one not in known), edit.statement]
        text = "".join(line + draft.newline for line in lines)
        return draft.spliced(Splice(offset, offset, text))
    # An import of ours could come before what the script sets for the library to read.
    statement = in_known_names(draft, edit.statement, edit.imports[0])
    if statement is None:
        raise DeclinedEdit(f"`{edit.imports[0]}` is not at the top of this file")
    offset = after_imports(draft)
    return draft.spliced(Splice(offset, offset, statement + draft.newline))


def _refuse_set(draft: Draft, edit: AddSetting) -> None:
    wanted = _wanted_value(edit)
    for statement, value in _settings(draft, edit.names):
        if same_code(draft.code(value), wanted):
            raise AlreadyThere(f"it is set to {wanted}")
        line = draft.lines(statement).start
        raise DeclinedEdit(f"it is set to {draft.code(value)[:40]} at line {line}")


def _wanted_value(edit: AddSetting) -> str:
    statement = cst.parse_statement(edit.statement)
    if isinstance(statement, cst.SimpleStatementLine):
        value = _value(statement.body[0], edit.names)
        if value is not None:
            return cst.Module([]).code_for_node(value)
    raise ValueError(f"{edit.statement!r} does not set {' or '.join(edit.names)}")


def _settings(
    draft: Draft, names: tuple[str, ...]
) -> list[tuple[cst.SimpleStatementLine, cst.BaseExpression]]:
    """The statements that set one of the names, each with the value."""
    return [
        (statement, value)
        for statement in draft.nodes(cst.SimpleStatementLine)
        for small in statement.body
        if (value := _value(small, names)) is not None
    ]


def _value(small: cst.BaseSmallStatement, names: tuple[str, ...]) -> cst.BaseExpression | None:
    """What a statement sets one of the names to; None where it does something else."""
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        return small.value if _environment_name(target) in names else None
    if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
        return None
    call = small.value
    arguments = [one.value for one in call.args]
    if len(arguments) == 1 and called_name(call) in names:
        return arguments[0]
    # os.environ.setdefault("NAME", value), os.putenv, jax.config.update("name", value)
    if len(arguments) == 2 and text_of(arguments[0]) in names:
        return arguments[1]
    return None


def _environment_name(target: cst.BaseExpression) -> str | None:
    """`NAME` of `os.environ["NAME"]`."""
    environ = m.Subscript(
        value=m.Attribute(attr=m.Name("environ")) | m.Name("environ"),
        slice=[m.SubscriptElement(slice=m.Index(value=m.SimpleString()))],
    )
    if not isinstance(target, cst.Subscript) or not m.matches(target, environ):
        return None
    index = target.slice[0].slice
    return text_of(index.value) if isinstance(index, cst.Index) else None


def _gone(draft: Draft, statement: cst.SimpleStatementLine) -> Splice:
    """The splice that takes a statement out; a block keeps at least a `pass`."""
    block = draft.parent(statement)
    begin, end = draft.start(statement), draft.end(statement)
    if isinstance(block, cst.IndentedBlock) and len(block.body) == 1:
        return Splice(begin, end, "pass")
    indent = draft.indent_at(begin) or ""
    return Splice(begin - len(indent), draft.after_newline(draft.line_end(end)), "")
