"""What a rule is: one file with a page, a detector and a cure."""

from __future__ import annotations

from typing import Protocol

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Finding, Safety


class Rule(Protocol):
    """A pattern that makes training slow, recognised by measured evidence."""

    code: str
    name: str
    summary: str
    page: str
    safety: Safety

    def detect(self, view: View) -> Finding | None:
        """The finding with its predicted gain, or None where the evidence does not hold."""
