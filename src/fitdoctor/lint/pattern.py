"""What a lint pattern is: a file with a function `find`, declared with what is known about it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fitdoctor.lint.module import Module

Match = tuple[ast.expr | ast.stmt, str]  # where, and what is wrong there
Find = Callable[[Module], Iterator[Match]]


@dataclass(frozen=True)
class Pattern:
    """Something harmful that the text alone shows."""

    find: Find  # every place of a file where the pattern is; its docstring is the explanation
    code: str  # of the rule that measures the same cause
    name: str
    evidence: str  # what was measured, in a clause
    measured_by: str  # the claim of `python -m benchmarks.articles` that measures it; may be ""
    example: str  # text in which it is found


def pattern(**facts: str) -> Callable[[Find], Pattern]:
    """Makes a pattern of the function below it."""
    return lambda find: Pattern(find, **facts)
