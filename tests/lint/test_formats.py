"""The formats in which findings are printed, as their readers take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from sarif_schema import LOG

from fitdoctor.cli.lint import command
from fitdoctor.contract.errors import UsageError
from fitdoctor.lint.annotations import annotation
from fitdoctor.lint.module import LintFinding
from fitdoctor.lint.sarif import sarif

EAGER = "import keras\nmodel.compile(loss='mse', run_eagerly=True)\n"
CELLS = {"cells": [{"cell_type": "code", "source": EAGER, "outputs": [], "metadata": {}}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "healthy.py").write_text("import keras\n")
    (tmp_path / "my train.py").write_text(EAGER)
    (tmp_path / "broken.py").write_text("import keras\n(")
    (tmp_path / "a.ipynb").write_text(json.dumps({**CELLS, "metadata": {}, "nbformat": 4}))
    return tmp_path


def lint(*args: str) -> Any:
    return CliRunner().invoke(command, args, standalone_mode=False)


def checked(text: str) -> dict[str, Any]:
    """A log that obeys the schema, and whose results point at rules that it lists."""
    log: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(LOG).validate(log)
    (run,) = log["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def test_nothing_found_is_a_log_without_results(folder: Path) -> None:
    done = lint("--format", "sarif", "healthy.py")
    assert checked(done.stdout)["results"] == []
    assert done.return_value == 0
    assert lint("--format", "github", "healthy.py").stdout == ""


def test_sarif_names_file_rule_and_place(folder: Path) -> None:
    done = lint("--format", "sarif", ".")
    assert done.return_value == 1
    cell, broken, eager = checked(done.stdout)["results"]
    assert eager["ruleId"] == "HO004" and eager["level"] == "warning"
    place = eager["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20train.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 2, "startColumn": 1}
    assert broken["ruleId"] == "SYNTAX" and broken["level"] == "error"
    # Lines of a cell are not lines of the notebook's file.
    assert "region" not in cell["locations"][0]["physicalLocation"]
    assert cell["message"]["text"].startswith("cell 1, line 2: run_eagerly=True")


def test_sarif_of_a_file_elsewhere_has_its_whole_address(folder: Path) -> None:
    log = sarif([LintFinding("/else where/a.py", 1, 1, "HO004", "eager-execution", "slow")])
    (result,) = checked(json.dumps(log))["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "file:///else%20where/a.py"}


def test_the_schema_notices_a_wrong_field(folder: Path) -> None:
    log = sarif([LintFinding("a.py", 1, 1, "HO004", "eager-execution", "slow")])
    log["runs"][0]["results"][0]["rule"] = "HO004"
    with pytest.raises(jsonschema.ValidationError):
        checked(json.dumps(log))


def test_github_gets_a_note_at_the_line(folder: Path) -> None:
    cell, broken, eager = lint("--format", "github", str(folder)).stdout.splitlines()
    assert eager.startswith(
        "::warning file=my train.py,line=2,col=1,title=HO004 eager-execution::run_eagerly=True "
    )
    assert broken.startswith("::error file=broken.py,line=2,col=1,title=SYNTAX syntax-error::")
    assert "::warning file=a.ipynb,title=HO004 eager-execution::cell 1, line 2: " in cell


def test_a_hostile_name_begins_no_second_command() -> None:
    name = "a\n::error file=b,line=1::50 %\r.py"
    text = annotation(LintFinding(name, 1, 1, "HO004", "eager-execution", "100 %\n::stop::"))
    assert "\n" not in text and "\r" not in text
    assert text.startswith(
        "::warning file=a%0A%3A%3Aerror file=b%2Cline=1%3A%3A50 %25%0D.py,line=1"
    )
    assert text.endswith("::100 %25%0A::stop::")


def test_text_is_what_is_printed_without_a_format(folder: Path) -> None:
    assert lint("--format", "text", ".").stdout == lint(".").stdout
    assert "my train.py:2:1: HO004 eager-execution" in lint(".").stdout


def test_json_has_two_names(folder: Path) -> None:
    done = lint("--format", "json", "my train.py")
    assert done.stdout == lint("--json", "my train.py").stdout
    assert json.loads(done.stdout)["findings"][0]["code"] == "HO004"
    both = lint("--json", "--format", "sarif", ".")
    assert isinstance(both.exception, UsageError)
    assert both.exception.message == "received both --json and --format sarif"
