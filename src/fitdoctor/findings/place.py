"""A place in the user's source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.records import RecordedWorkload

# The line of an edit whose place was not recorded: it is looked for in the whole file.
ANYWHERE = -1


@dataclass(frozen=True)
class Where:
    """A file and a line in it."""

    file: str
    line: int

    def to_json(self) -> dict[str, Any]:
        """The form of a place in the JSON report."""
        return {"file": self.file, "line": self.line}


def place_of(workload: RecordedWorkload) -> Where | None:
    """The line that trains; None where no line of the user's was seen."""
    return Where(workload.file, workload.line or 0) if workload.file else None
