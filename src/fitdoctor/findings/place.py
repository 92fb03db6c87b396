"""A place in the user's source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Where:
    """A file and a line in it."""

    file: str
    line: int

    def to_json(self) -> dict[str, Any]:
        """The form of a place in the JSON report."""
        return {"file": self.file, "line": self.line}
