"""Which line of the user's own source is responsible for what happens now."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import FrameType
from typing import NamedTuple

# The folder of the whole package, three levels up from inside/ledger/callsite.py.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(name))
)
_MARKERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

# Frameworks are never the user's code, wherever they are installed or checked out.
_FRAMEWORKS = (
    "keras",
    "tensorflow",
    "jax",
    "jaxlib",
    "torch",
    "numpy",
    "optree",
    "grain",
    "pandas",
    "scipy",
    "PIL",
)

_known: dict[str, bool] = {}


class Place(NamedTuple):
    """A line of the user's source."""

    file: str
    line: int
    function: str


def is_user_file(filename: str) -> bool:
    """Whether a code object's file is the user's: not a library, not the interpreter, not us."""
    known = _known.get(filename)
    if known is None:
        known = _known[filename] = _classify(filename)
    return known


def _classify(filename: str) -> bool:
    if filename.startswith("<"):
        # Notebook cells are the user's; frozen modules and exec'd strings are not.
        return filename.startswith("<ipython-input")
    path = os.path.realpath(filename)
    if path.startswith(_PACKAGE) or any(marker in path for marker in _MARKERS):
        return False
    # AutoGraph writes the user's functions to temporary modules.
    if os.path.basename(path).startswith("__autograph_generated_file"):
        return False
    return not path.startswith((*_LIBRARIES, *_framework_folders()))


def _framework_folders() -> list[str]:
    modules = [sys.modules.get(name) for name in _FRAMEWORKS]
    files = [getattr(module, "__file__", None) for module in modules]
    return [os.path.dirname(os.path.realpath(file)) + os.sep for file in files if file]


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that runs the user's own source."""
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def user_place(depth: int = 1) -> Place | None:
    """The user's line that led here; the outermost line of `__main__` if all is library code."""
    start = sys._getframe(depth)
    frame = user_frame(start)
    if frame is None:
        frame = _main_frame(start)
    return place_of(frame) if frame is not None else None


def library_call(depth: int = 1) -> str | None:
    """The library function that the user's line called, through which we came here."""
    frame: FrameType | None = sys._getframe(depth)
    name: str | None = None
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name if frame is not None else None


def place_of(frame: FrameType) -> Place:
    """The place a frame is at now."""
    code = frame.f_code
    return Place(os.path.abspath(code.co_filename), frame.f_lineno, code.co_name)


def _main_frame(frame: FrameType | None) -> FrameType | None:
    """`python -m installed.package` has no user file: its own main module is used."""
    found = None
    while frame is not None:
        if frame.f_globals.get("__name__") == "__main__":
            found = frame
        frame = frame.f_back
    return found
