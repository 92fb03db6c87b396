"""fitdoctor: why Keras training is slow, what would help, and by how much.

This module is imported inside the user's process, so it stays free of imports; what needs
any is imported when it is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which is not imported here
if TYPE_CHECKING:
    from fitdoctor.library.ahead import read_ahead
    from fitdoctor.library.api import diagnose, speedup
    from fitdoctor.library.chunks import from_generator
    from fitdoctor.pack.packed import packed
    from fitdoctor.pack.reading.load import load

# `Watch` is not listed: `from fitdoctor import *` must not import Keras.
__all__ = [
    "__version__",
    "diagnose",
    "from_generator",
    "load",
    "load_ipython_extension",
    "packed",
    "read_ahead",
    "speedup",
]

__version__ = "0.1.0"

# Where the library's functions live; loaded when they are asked for.
_LIBRARY = {
    "diagnose": "fitdoctor.library.api",
    "from_generator": "fitdoctor.library.chunks",
    "load": "fitdoctor.pack.reading.load",
    "packed": "fitdoctor.pack.packed",
    "read_ahead": "fitdoctor.library.ahead",
    "speedup": "fitdoctor.library.api",
}


def __getattr__(name: str) -> object:
    # Not import statements: what the recorder imports must not lead to what reports need.
    import importlib

    if name == "Watch":
        # A Keras callback for those who cannot change how training is started.
        return importlib.import_module("fitdoctor.library.watch").watch_class()
    if name in _LIBRARY:
        return getattr(importlib.import_module(_LIBRARY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext fitdoctor` calls; it brings the `%%fitdoctor` cell magic."""
    import importlib

    importlib.import_module("fitdoctor.library.notebook").register(shell)
