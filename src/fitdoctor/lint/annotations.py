"""Lint findings as GitHub workflow commands, which become notes at the lines of a pull request."""

from __future__ import annotations

from pathlib import Path

from fitdoctor.lint.module import LintFinding
from fitdoctor.lint.sarif import level


def annotation(finding: LintFinding) -> str:
    """One line; nothing in a file's name or a message can begin another command."""
    message = finding.message
    facts = {"file": _below_here(finding.file)}
    if finding.cell is None:
        facts |= {"line": str(finding.line), "col": str(finding.column)}
    else:
        # Lines of a cell are not lines of the notebook's file.
        message = f"cell {finding.cell}, line {finding.line}: {message}"
    facts["title"] = f"{finding.code} {finding.name}"
    given = ",".join(f"{name}={_property(value)}" for name, value in facts.items())
    return f"::{level(finding)} {given}::{_data(message)}"


def _below_here(file: str) -> str:
    """Annotations are placed by the path from the repository's root, where the command runs."""
    path, here = Path(file).resolve(), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
