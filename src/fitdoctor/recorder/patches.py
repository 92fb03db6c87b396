"""Patches that undo themselves: what was replaced is put back, in reverse order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Patches:
    """Every replacement of someone else's attribute goes through here."""

    def __init__(self) -> None:
        """Start with nothing replaced."""
        self._undo: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace `owner.name` by `make(original)`.

        Raises:
            AttributeError: the seam is gone, which means the framework changed.
        """
        original = getattr(owner, name)
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, make(original))
        self._undo.append((owner, name, own))

    def undo(self) -> None:
        """Put everything back, the last replacement first."""
        while self._undo:
            owner, name, own = self._undo.pop()
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
