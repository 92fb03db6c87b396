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
        self.set(owner, name, make(getattr(owner, name)))

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Give an owner an attribute that it need not have."""
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._undo.append(functools.partial(_put_back, owner, name, own))

    def around(self, owner: Any, name: str, answer: Callable[..., Any]) -> None:
        """Let `answer(original, *args, **kwargs)` answer calls of `owner.name`.

        One Python call more than `replace`: not for what is called in every step.
        """

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def answered(*args: Any, **kwargs: Any) -> Any:
                return answer(original, *args, **kwargs)

            return answered

        self.replace(owner, name, make)

    def later(self, undo: Callable[[], None]) -> None:
        """Take something else back with the replacements: a hook that a framework offers."""
        self._undo.append(undo)

    def __enter__(self) -> Patches:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Put everything back, the last replacement first."""
        while self._undo:
            self._undo.pop()()


def _put_back(owner: Any, name: str, own: Any) -> None:
    if own is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, own)
