"""A dataset of an HDF5 file that is read into memory where it is opened."""

from __future__ import annotations

import libcst as cst

from fitdoctor.cures.calls import text_of
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.findings.edits import ReadAll


@applied.register
def read_all(edit: ReadAll, draft: Draft) -> Draft:
    """`file["x"]` becomes `file["x"][:]`."""
    line = draft.line_now(edit.where.line)
    found = [
        node
        for node in draft.nodes(cst.Subscript)
        if line in draft.lines(node) and _key(node) == edit.name.strip("/")
    ]
    if len(found) != 1:
        raise DeclinedEdit(f'["{edit.name}"] was not found once at line {edit.where.line}')
    node = found[0]
    outer = draft.parent(node)
    if isinstance(outer, cst.Subscript) and outer.value is node:
        if draft.text[draft.end(node) : draft.end(outer)] in ("[:]", "[()]", "[...]"):
            raise AlreadyThere(f'["{edit.name}"] is read into memory')
        raise DeclinedEdit(f'["{edit.name}"] is indexed where it is opened')
    if isinstance(outer, cst.Attribute):
        raise DeclinedEdit(f'an attribute of ["{edit.name}"] is used where it is opened')
    end = draft.end(node)
    return draft.spliced(Splice(end, end, "[:]"))


def _key(node: cst.Subscript) -> str | None:
    """The text in `["text"]`."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    text = text_of(index.value if isinstance(index, cst.Index) else None)
    return None if text is None else text.strip("/")
