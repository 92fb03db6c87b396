"""One edit on one text, for the tests of edits."""

from __future__ import annotations

import ast
import io
import tokenize

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft
from fitdoctor.cures.edit_engine import edited
from fitdoctor.findings.edits import Edit
from fitdoctor.findings.place import Where

FILE = "/user/train.py"


def at(line: int) -> Where:
    return Where(FILE, line)


def after(text: str, edit: Edit) -> str:
    """The text after an edit, which a second application must not change."""
    draft = edited(Draft(text), edit)
    ast.parse(draft.text)
    try:
        assert edited(draft, edit).text == draft.text
    except (AlreadyThere, DeclinedEdit):
        pass
    return draft.text


def why_not(text: str, edit: Edit) -> str:
    """The reason for which an edit is declined."""
    try:
        changed = edited(Draft(text), edit).text
    except DeclinedEdit as error:
        return str(error)
    raise AssertionError(f"the edit was made:\n{changed}")


def is_there(text: str, edit: Edit) -> bool:
    try:
        edited(Draft(text), edit)
    except AlreadyThere:
        return True
    return False


def comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def words(text: str) -> list[str]:
    """The tokens that mean something."""
    empty = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return [token.string for token in tokens if token.type not in empty]
