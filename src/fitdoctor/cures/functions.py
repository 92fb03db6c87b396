"""Functions of the user's source: which one begins at a line, its parameters, its decorators."""

from __future__ import annotations

import libcst as cst

from fitdoctor.cures.draft import DeclinedEdit, Draft, Splice


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
