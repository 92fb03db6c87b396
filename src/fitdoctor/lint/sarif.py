"""Lint findings as SARIF 2.1.0, which code hosts and editors show beside the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fitdoctor import __version__
from fitdoctor.lint.check import SYNTAX
from fitdoctor.lint.module import LintFinding
from fitdoctor.lint.patterns import all_patterns

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# The name by which a SARIF reader knows the folder that the command ran in.
ROOT = "%SRCROOT%"


def sarif(findings: list[LintFinding]) -> dict[str, Any]:
    """One run with every rule that lint knows, and a result per finding."""
    rules = [*_rules(), _SYNTAX_RULE]
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    driver = {"name": "fitdoctor", "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.code]) for finding in findings],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def level(finding: LintFinding) -> str:
    """Slow code is a warning; a file that cannot be read is an error."""
    return "error" if finding.code == SYNTAX else "warning"


def _rules() -> list[dict[str, Any]]:
    from fitdoctor.rules import all_rules

    linted = {pattern.code for pattern in all_patterns()}
    return [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "help": {"text": rule.page.strip(), "markdown": rule.page.strip()},
            "defaultConfiguration": {"level": "warning"},
        }
        for rule in sorted(all_rules(), key=lambda one: one.code)
        if rule.code in linted
    ]


_SYNTAX_RULE: dict[str, Any] = {
    "id": SYNTAX,
    "name": "syntax-error",
    "shortDescription": {"text": "The file cannot be read as Python."},
    "defaultConfiguration": {"level": "error"},
}


def _result(finding: LintFinding, rule: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(finding.file)}
    message = finding.message
    if finding.cell is None:
        place["region"] = {"startLine": finding.line, "startColumn": finding.column}
    else:
        # Lines of a cell are not lines of the notebook's file.
        message = f"cell {finding.cell}, line {finding.line}: {message}"
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": level(finding),
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }


def _artifact(file: str) -> dict[str, str]:
    """A path below this folder as a relative URI; any other as a whole one."""
    from urllib.parse import quote

    path = Path(file).resolve()
    here = Path.cwd()
    if path.is_relative_to(here):
        name = path.relative_to(here).as_posix().encode("utf-8", "surrogateescape")
        return {"uri": quote(name), "uriBaseId": ROOT}
    return {"uri": path.as_uri()}
