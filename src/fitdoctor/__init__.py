"""fitdoctor: why Keras training is slow, what would help, and by how much.

This module is imported inside the user's process, so it stays free of imports: what it offers
is imported when it is asked for.
"""

__version__ = "0.1.0"

# Name -> the module that has it.
_OFFERED = {"load": "fitdoctor.pack.reading.load"}


def __getattr__(name: str) -> object:
    """Import one of the offered functions when it is first used."""
    if name not in _OFFERED:
        raise AttributeError(f"module 'fitdoctor' has no attribute {name!r}")
    import importlib

    found = globals()[name] = getattr(importlib.import_module(_OFFERED[name]), name)
    return found


def __dir__() -> list[str]:
    """With the functions that were not used yet."""
    return sorted({*globals(), *_OFFERED})
