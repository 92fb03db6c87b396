"""`--undo`, of `fix` and of `cure`: the files of the last `--apply` as they were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fitdoctor.cli.output import Say


def put_back(say: Say) -> int:
    """Put them back, and say which."""
    from fitdoctor.cures.writing import take_back

    for file in take_back(Path.cwd()).files:
        say(f"put back {file.path}")
    return 0
