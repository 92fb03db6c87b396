"""`fitdoctor lint`: what can be seen without running."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import Choice
from fitdoctor.cli.output import say, write
from fitdoctor.contract.errors import UsageError

if TYPE_CHECKING:
    from fitdoctor.lint.module import LintFinding

FOUND = 1
FORMATS = ("text", "json", "sarif", "github")


@click.command("lint", short_help="Say what can be seen without running.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="How to print the findings: text (the default), json, sarif (for code scanning and "
    "editors), or github (notes at the lines of a pull request).",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if something was found.")
@shared.rule_options
def command(
    *, paths: tuple[Path, ...], form: str | None, as_json: bool, exit_zero: bool, **codes: Any
) -> int:
    """Look for patterns in PATHS (files, notebooks or folders) that are slow on today's versions.

    Exit codes: 0 nothing found, 1 something found, 2 wrong use. A comment
    `# fitdoctor: ignore[CODE]` on the line leaves a finding out.
    """
    from fitdoctor.lint.check import SYNTAX, check_file, python_files
    from fitdoctor.lint.keras2 import keras2_files, keras2_note
    from fitdoctor.lint.patterns import all_patterns
    from fitdoctor.rules import all_rules

    form = _one_form(form, as_json=as_json)
    choice = Choice(**codes)
    # A selection in pyproject.toml is for `run` and `lint` alike.
    linted = {pattern.code for pattern in all_patterns()}
    choice.check(sorted(linted | {rule.code for rule in all_rules()}))
    files = python_files(list(paths))
    findings = [
        finding
        for file in files
        for finding in check_file(file)
        if finding.code == SYNTAX or choice.has(finding.code)
    ]
    keras2 = keras2_files(files)
    write(sys.stdout, _text(findings, len(files), keras2, form))
    if form in ("text", "github"):
        count, of = len(findings), f"{len(files)} file{'' if len(files) == 1 else 's'}"
        say(f"{count} found in {of}" if count else f"nothing found in {of}")
        if keras2:
            say(keras2_note(keras2))
    return FOUND if findings and not exit_zero else 0


def _one_form(form: str | None, *, as_json: bool) -> str:
    if as_json and form not in (None, "json"):
        raise UsageError(
            f"received both --json and --format {form}",
            expected="one of them",
            advice=f"--format {form}",
        )
    return "json" if as_json else form or "text"


def _text(findings: list[LintFinding], files: int, keras2: list[Path], form: str) -> str:
    if form == "json":
        rows = [dataclasses.asdict(finding) for finding in findings]
        shown = [str(file) for file in keras2]
        report = {"schema": 1, "files": files, "findings": rows, "keras2": shown}
        return json.dumps(report, indent=2) + "\n"
    if form == "sarif":
        from fitdoctor.lint.sarif import sarif

        return json.dumps(sarif(findings), indent=2) + "\n"
    if form == "github":
        from fitdoctor.lint.annotations import annotation

        return "".join(f"{annotation(finding)}\n" for finding in findings)
    return "".join(f"{_line(finding)}\n" for finding in findings)


def _line(finding: LintFinding) -> str:
    from fitdoctor.report.text import clean

    return f"{clean(finding.place)}: {finding.code} {finding.name}: {clean(finding.message)}"
