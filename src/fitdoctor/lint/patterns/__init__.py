"""One file per pattern; a new file in this folder is a new pattern, and nothing else is edited."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from fitdoctor.lint.pattern import Pattern


@functools.cache
def all_patterns() -> tuple[Pattern, ...]:
    """Every pattern in this folder, by the name of its file.

    Raises:
        TypeError: a module of this folder defines no pattern.
    """
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    return tuple(_pattern(f"{__name__}.{name}") for name in names)


def _pattern(module: str) -> Pattern:
    found = getattr(importlib.import_module(module), "find", None)
    if not isinstance(found, Pattern):
        raise TypeError(f"{module} must define find, with @pattern above it")
    return found
