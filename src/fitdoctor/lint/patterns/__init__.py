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
        TypeError: a module of this folder defines no PATTERN.
    """
    found: list[Pattern] = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        pattern = getattr(module, "PATTERN", None)
        if pattern is None:
            raise TypeError(f"{module.__name__} must define PATTERN, an instance of its pattern")
        found.append(pattern)
    return tuple(found)
