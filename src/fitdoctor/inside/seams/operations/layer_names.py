"""Which layer an operation belongs to, from the scopes in its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBERED = re.compile(r"(.+)_\d+")


class LayerNames:
    """Finds layers among the scopes of operations.

    A graph gives a scope a number when its name is taken: `conv2d_1` may be the scope of the layer
    conv2d as well as that of conv2d_1. Scopes that can only be one layer's are settled first.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._found: dict[str, str | None] = {}

    def learn(self, paths: Iterable[Sequence[str]]) -> None:
        """Settle all scopes of a profile."""
        scopes = {scope for path in paths for scope in path}
        candidates = {scope: self._candidates(scope) for scope in scopes}
        taken: set[str] = set()
        for scope in sorted(scopes, key=lambda one: (len(candidates[one]), one)):
            free = [one for one in candidates[scope] if one not in taken] or candidates[scope]
            self._found[scope] = free[0] if free else None
            if free:
                taken.add(free[0])

    def layers_on(self, path: Sequence[str]) -> list[str]:
        """The layers on a path of scopes, the outermost first."""
        return [one for scope in path if (one := self._found.get(scope)) is not None]

    def _candidates(self, scope: str) -> list[str]:
        found = [scope] if scope in self._names else []
        numbered = _NUMBERED.fullmatch(scope)
        if numbered and numbered[1] in self._names:
            found.append(numbered[1])
        return found
