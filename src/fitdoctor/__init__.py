"""fitdoctor: why Keras training is slow, what would help, and by how much.

This module is imported inside the user's process, so it stays free of imports; the library
functions are loaded when they are asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fitdoctor.api import diagnose, speedup

__all__ = ["__version__", "diagnose", "speedup"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in ("diagnose", "speedup"):
        # Kept out of import statements here: the injected recorder imports this package first.
        import importlib

        return getattr(importlib.import_module("fitdoctor.api"), name)
    raise AttributeError(f"module 'fitdoctor' has no attribute {name!r}")
