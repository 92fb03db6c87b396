"""A callback's batch hook that works at every so manieth batch only."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.declined import AlreadyThere, DeclinedEdit
from fitdoctor.cures.draft import Draft, Splice
from fitdoctor.findings.edits import SkipBatches


def skip_batches(draft: Draft, edit: SkipBatches) -> Draft:
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
    inner = indent + ("\t" if indent.endswith("\t") else "    ")
    lines = [f"{indent}if {batch} % {edit.every}:", f"{inner}return"]
    begin = draft.line_start(draft.lines(first).start)
    return draft.spliced(Splice(begin, begin, "".join(line + draft.newline for line in lines)))


def _hook(draft: Draft, edit: SkipBatches) -> cst.FunctionDef:
    line = draft.line_now(edit.where.line)
    for function in draft.nodes(cst.FunctionDef):
        begins = [draft.lines(one).start for one in (*function.decorators, function)]
        if line in begins and "batch" in function.name.value:
            if function.asynchronous is not None:
                break
            return function
    raise DeclinedEdit(f"no batch hook of a callback begins at line {edit.where.line}")


def _batch_name(hook: cst.FunctionDef) -> str:
    """The parameter that Keras gives the number of the batch."""
    names = [one.name.value for one in (*hook.params.posonly_params, *hook.params.params)]
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
    if not isinstance(first, cst.If):
        return False
    return bool(m.findall(first.test, m.Name(batch)))
