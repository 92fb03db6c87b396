"""What a lint pattern is: one file with a code, a name and `find`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from fitdoctor.lint.module import Module

Match = tuple[ast.expr | ast.stmt, str]  # where, and what is wrong there


class Pattern(Protocol):
    """Something harmful that the text alone shows."""

    code: str  # of the rule that measures the same cause
    name: str
    evidence: str  # what was measured, in a clause
    measured_by: str  # the claim of `python -m benchmarks.articles` that measures it; may be ""
    example: str  # text in which it is found

    def find(self, module: Module) -> Iterator[Match]:
        """Every place of a file where the pattern is."""
