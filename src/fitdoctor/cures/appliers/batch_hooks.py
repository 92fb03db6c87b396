"""A callback's batch hook that runs every Nth batch only."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice, deeper
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.statements import functions_at, parameter_names
from fitdoctor.findings.edits import SkipBatches


@applied.register
def skip_batches(edit: SkipBatches, draft: Draft) -> Draft:
    """Put `if batch % N: return` at the beginning of the hook."""
    hook = _hook(draft, edit)
    batch = _batch_name(hook)
    first = _first_statement(hook)
    start = draft.start(first)
    indent = draft.indent_at(start)
    if indent is None:
        raise DeclinedEdit(f"the body of {hook.name.value} shares its first line")
    if _counts_batches(first, batch):
        if draft.code(first).startswith(f"if {batch} % {edit.every}:"):
            raise AlreadyThere(f"{hook.name.value} skips batches")
        raise DeclinedEdit(f"{hook.name.value} counts batches itself")
    lines = [f"{indent}if {batch} % {edit.every}:", f"{deeper(indent)}return"]
    begin = draft.line_start(draft.lines(first).start)
    return draft.spliced(Splice(begin, begin, "".join(line + draft.newline for line in lines)))


def _hook(draft: Draft, edit: SkipBatches) -> cst.FunctionDef:
    for function in functions_at(draft, edit.where.line):
        if "batch" in function.name.value and function.asynchronous is None:
            return function
    raise DeclinedEdit(f"no batch hook of a callback begins at line {edit.where.line}")


def _batch_name(hook: cst.FunctionDef) -> str:
    """The parameter that Keras gives the number of the batch."""
    names = parameter_names(hook)
    if len(names) < 2:
        raise DeclinedEdit(f"{hook.name.value} does not name the batch among its parameters")
    return names[1]


def _first_statement(hook: cst.FunctionDef) -> cst.BaseStatement:
    """The first statement that does something: a docstring stays first."""
    if not isinstance(hook.body, cst.IndentedBlock):
        raise DeclinedEdit(f"the body of {hook.name.value} shares its first line")
    body = list(hook.body.body)
    docstring = m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
    if len(body) > 1 and m.matches(body[0], docstring):
        return body[1]
    return body[0]


def _counts_batches(first: cst.BaseStatement, batch: str) -> bool:
    """Whether the hook begins with a look at the batch's number."""
    return isinstance(first, cst.If) and bool(m.findall(first.test, m.Name(batch)))
