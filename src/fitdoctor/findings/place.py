"""A place in the user's source."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

# The line of an edit whose place was not recorded: it is looked for in the whole file.
ANYWHERE = -1


@dataclass(frozen=True)
class Where:
    """A file and a line in it."""

    file: str
    line: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Placed(Protocol):
    """What was recorded with its place, as far as that was seen."""

    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...


def place_of(one: Placed | None) -> Where | None:
    """Its place, line 0 where only the file is known; None where no file was seen."""
    return Where(one.file, one.line or 0) if one is not None and one.file else None


def line_of(one: Placed | None) -> Where | None:
    """Its place, for an edit; None where the line is not known."""
    return Where(one.file, one.line) if one is not None and one.file and one.line else None
