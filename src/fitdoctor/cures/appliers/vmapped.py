"""A map over the rows, one by one, becomes one over all of them at once."""

from __future__ import annotations

import libcst as cst

from fitdoctor.cures.calls import calls_at, refuse_stars, value_start
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import call_with_names
from fitdoctor.findings.edits import JAX, VmapInstead

# The parameters of jax.lax.map that the twin knows; `batch_size` asks for less memory.
_PARAMETERS = ("f", "xs")


@applied.register
def vmap_instead(edit: VmapInstead, draft: Draft) -> Draft:
    """`jax.lax.map(f, rows)` becomes `jax.vmap(f)(rows)`."""
    line = edit.where.line
    if not calls_at(draft, line, "map") and calls_at(draft, line, "vmap"):
        raise AlreadyThere("vmap() is called")
    draft, call, vmap = call_with_names(draft, line, "map", "jax.vmap", (JAX,))
    function, rows = _function_and_rows(draft, call)
    between = draft.text[draft.end(function) : draft.start(rows)]
    if between.strip() != ",":
        raise DeclinedEdit("there is a comment between the arguments of map()")
    new_line = between.split(",", 1)[1] if "\n" in between else ""
    return draft.spliced(
        draft.instead(call.func, vmap),
        Splice(draft.start(function), value_start(draft, function), ""),
        Splice(draft.end(function), value_start(draft, rows), ")(" + new_line),
    )


def _function_and_rows(draft: Draft, call: cst.Call) -> tuple[cst.Arg, cst.Arg]:
    refuse_stars(call, "settings of the loop")
    for place, argument in enumerate(call.args):
        name = argument.keyword.value if argument.keyword is not None else None
        if place >= len(_PARAMETERS) or name not in (None, _PARAMETERS[place]):
            raise DeclinedEdit(f"map() is also given `{draft.code(argument)[:40]}`")
    if len(call.args) != len(_PARAMETERS):
        raise DeclinedEdit("map() is given its rows in another way")
    return call.args[0], call.args[1]
