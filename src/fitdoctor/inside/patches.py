"""Patches that undo themselves: what was replaced is put back, in reverse order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_MISSING = object()


class Patches:
    """Every replacement of someone else's attribute goes through here."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace `owner.name` by `make(original)`.

        Raises:
            AttributeError: the seam is gone, which means the framework changed.
        """
        original = getattr(owner, name)
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, make(original))
        self._undo.append(functools.partial(_put_back, owner, name, own))

    def later(self, undo: Callable[[], None]) -> None:
        """Take something else back with the replacements: a hook that a framework offers."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Put everything back, the last replacement first."""
        while self._undo:
            self._undo.pop()()


def _put_back(owner: Any, name: str, own: Any) -> None:
    if own is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, own)
