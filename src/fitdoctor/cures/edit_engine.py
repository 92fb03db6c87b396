"""One edit on one draft: appliers register themselves for the class of edits that they make."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from fitdoctor.cures.draft import Draft
from fitdoctor.findings.edits import Edit

_APPLIERS = "fitdoctor.cures.appliers"


@functools.singledispatch
def applied(edit: Edit, draft: Draft) -> Draft:
    """The draft with an edit made, by the function that is registered for its class."""
    raise NotImplementedError(f"nothing makes {type(edit).__name__}")


@functools.cache
def _load() -> None:
    package = importlib.import_module(_APPLIERS)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{_APPLIERS}.{module.name}")


def edited(draft: Draft, edit: Edit) -> Draft:
    """The draft with an edit made.

    Raises:
        AlreadyThere: The source has it.
        DeclinedEdit: It cannot be made safely; the message says why.
    """
    _load()
    return applied(edit, draft)
