"""One edit on one draft: appliers register themselves for the class of edits that they make."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

from fitdoctor.cures.draft import Draft
from fitdoctor.findings.edits import Edit

Kind = TypeVar("Kind", bound=Edit)
_APPLIERS = "fitdoctor.cures.appliers"
_known: dict[type[Edit], Callable[[Draft, Any], Draft]] = {}


def applies(
    kind: type[Kind],
) -> Callable[[Callable[[Draft, Kind], Draft]], Callable[[Draft, Kind], Draft]]:
    """Register the function that makes edits of this class."""

    def register(applier: Callable[[Draft, Kind], Draft]) -> Callable[[Draft, Kind], Draft]:
        _known[kind] = applier
        return applier

    return register


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
    return _known[type(edit)](draft, edit)
