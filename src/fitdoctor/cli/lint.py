"""`fitdoctor lint`: what can be seen without running."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import Choice
from fitdoctor.cli.output import say, write

FOUND = 1


@click.command("lint", short_help="Say what can be seen without running.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@shared.json_only
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if something was found.")
@shared.rule_options
def command(*, paths: tuple[Path, ...], as_json: bool, exit_zero: bool, **codes: Any) -> int:
    """Look for patterns in PATHS (files, notebooks or folders) that are slow on today's versions.

    Exit codes: 0 nothing found, 1 something found, 2 wrong use. A comment
    `# fitdoctor: ignore[CODE]` on the line leaves a finding out.
    """
    from fitdoctor.lint.check import SYNTAX, check_file, python_files
    from fitdoctor.lint.keras2 import keras2_files, keras2_note
    from fitdoctor.lint.patterns import all_patterns
    from fitdoctor.report.text import clean
    from fitdoctor.rules import all_rules

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
    if as_json:
        rows = [dataclasses.asdict(finding) for finding in findings]
        shown = [str(file) for file in keras2]
        report = {"schema": 1, "files": len(files), "findings": rows, "keras2": shown}
        write(sys.stdout, json.dumps(report, indent=2) + "\n")
    else:
        for each in findings:
            message = f"{each.code} {each.name}: {clean(each.message)}"
            write(sys.stdout, f"{clean(each.place)}: {message}\n")
        count, of = len(findings), f"{len(files)} file{'' if len(files) == 1 else 's'}"
        say(f"{count} found in {of}" if count else f"nothing found in {of}")
        if keras2:
            say(keras2_note(keras2))
    return FOUND if findings and not exit_zero else 0
