"""The GitHub Action and the pre-commit hook do what they say."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click
import pytest
import yaml
from action import ACTION, ROOT, run_step

from fitdoctor.cli import cli

REAL = Path(sys.executable).parent
RECORDING = str(ROOT / "tests" / "contract" / "recordings" / "s10-schema-2.rec")
SLOW = "import keras\nmodel.compile(loss='mse', run_eagerly=True)\n"


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """A `fitdoctor` that prints the words it was given, one per line."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "fitdoctor").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (folder / "fitdoctor").chmod(0o755)
    return folder


def test_inputs_reach_the_shell_as_variables_only() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"


def test_steps_ask_only_for_what_there_is() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    asked = set(re.findall(r"inputs\.([\w-]+)", text))
    assert asked == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"


def test_lint_passes_where_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import keras\n")
    done = run_step("Lint", tmp_path, REAL, {"lint": "train.py\n", "lint-fails": "true"})
    assert (done.code, done.stdout) == (0, "")


def test_lint_notes_a_finding_and_fails_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "my train.py").write_text(SLOW)
    done = run_step("Lint", tmp_path, REAL, {"lint": "my train.py"})
    assert done.code == 0
    assert done.stdout.startswith("::warning file=my train.py,line=2,")
    assert run_step("Lint", tmp_path, REAL, {"lint-fails": "true"}).code == 1


def test_the_script_gets_its_arguments_as_they_are(tmp_path: Path, echo: Path) -> None:
    inputs = {"script": "my train.py", "arguments": "--name\na b; $(exit 3)\n", "budget": "20"}
    done = run_step("Measure", tmp_path, echo, inputs)
    assert done.code == 0
    words = done.stdout.splitlines()
    assert words[words.index("--") :] == ["--", "my train.py", "--name", "a b; $(exit 3)"]
    assert words[words.index("--budget") + 1] == "20"
    assert done.outputs == {
        "report": "fitdoctor-report/fitdoctor.json",
        "page": "fitdoctor-report/fitdoctor.html",
    }
    _is_understood(words)


def test_the_budget_passes_below_its_limit(tmp_path: Path) -> None:
    inputs = {"fail-if": "step > 30ms\n"}
    done = run_step("Budget", tmp_path, REAL, inputs, steps__run__outputs__report=RECORDING)
    assert done.code == 0


def test_the_budget_fails_above_its_limit(tmp_path: Path) -> None:
    inputs = {"fail-if": "step > 30ms\nstep > 10ms\n"}
    done = run_step("Budget", tmp_path, REAL, inputs, steps__run__outputs__report=RECORDING)
    assert done.code == 1
    assert "failed: step > 10ms" in done.stderr


def test_a_baseline_is_compared_with(tmp_path: Path) -> None:
    inputs = {"fail-if": "step > 1.2x", "baseline": RECORDING}
    done = run_step("Budget", tmp_path, REAL, inputs, steps__run__outputs__report=RECORDING)
    assert done.code == 0
    inputs["fail-if"] = "step > 0.5x"
    done = run_step("Budget", tmp_path, REAL, inputs, steps__run__outputs__report=RECORDING)
    assert done.code == 1


def test_the_hook_is_a_command_that_takes_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    words = shlex.split(hook["entry"])
    assert words[0] == "fitdoctor" and hook["language"] == "python"
    _is_understood([*words[1:], "a.py", "b.ipynb"])


def _is_understood(words: list[str]) -> None:
    with click.Context(cli, info_name="fitdoctor") as context:
        command = cli.get_command(context, words[0])
        assert command is not None
        command.make_context(words[0], words[1:], parent=context)
