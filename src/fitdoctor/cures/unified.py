"""A unified diff that `patch` and `git apply` take, whatever the newlines are."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(path: Path, old: str, new: str, root: Path) -> str:
    """The difference of one file; empty where there is none.

    A carriage return stays at the end of its line, as git has it.
    """
    name = os.path.relpath(path, root)
    shown = str(path).lstrip(os.sep) if name.startswith("..") else name
    lines = difflib.unified_diff(
        _LINES.findall(old), _LINES.findall(new), f"a/{shown}", f"b/{shown}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)
