"""The iterator that a loop reads right now, to be read without the loop.

A generator of the user's cannot be started again. But a loop that ends after its examination has no
more use for it: what is left of it is read alone.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CodeType, GeneratorType
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable


class LiveSource:
    """A generator, known by its code, or an object with a `__next__` of the user's."""

    def __init__(self, code: CodeType, owner: Any = None) -> None:
        """`owner` is the object whose method `code` is, if it is one."""
        self._code = code
        self._owner = owner

    def iterator(self) -> Iterator[Any]:
        """The iterator itself.

        Raises:
            NotAvailable: it is gone, or there are several.
        """
        if self._owner is not None and hasattr(type(self._owner), "__next__"):
            found: Iterator[Any] = self._owner
            return found
        waiting = [one for one in gc.get_objects() if self._is_waiting(one)]
        if len(waiting) != 1:
            raise NotAvailable("the loop's generator could not be read alone")
        generator: Iterator[Any] = waiting[0]
        return generator

    def _is_waiting(self, value: Any) -> bool:
        is_generator = isinstance(value, GeneratorType) and value.gi_code is self._code
        return is_generator and value.gi_suspended
