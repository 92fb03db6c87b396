"""Arguments after a script: its own, except for options that only we can mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from fitdoctor.cli import cli

PLAIN = "import keras\n"
ARGPARSE = 'parser.add_argument("--json")\nparser.add_argument("-o", "--out")\n'


def parsed(*words: str, command: str = "run") -> dict[str, Any]:
    with click.Context(cli, info_name="fitdoctor") as context:
        found = cli.get_command(context, command)
        assert found is not None
        return found.make_context(command, list(words), parent=context).params


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "train.py").write_text(PLAIN)
    return str(tmp_path / "train.py")


def test_the_script_keeps_what_is_no_option_of_ours(script: str) -> None:
    assert parsed(script, "data", "--epochs", "3", "-x")["args"] == ("data", "--epochs", "3", "-x")
    assert parsed(script, "--help")["args"] == ("--help",)


def test_after_two_dashes_everything_is_the_scripts(script: str) -> None:
    found = parsed(script, "--", "--json", "out.json")
    assert (found["args"], found["json_output"]) == (("--", "--json", "out.json"), None)
    found = parsed("--", script, "--json", "out.json")
    assert (found["args"], found["json_output"]) == (("--json", "out.json"), None)


def test_an_option_that_the_script_knows_is_its_own(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(ARGPARSE)
    found = parsed(str(script), "--json", "out.json", "-o", "a.html", "--budget=5")
    assert found["args"] == ("--json", "out.json", "-o", "a.html")
    assert (found["json_output"], found["output"], found["budget"]) == (None, None, 5.0)


def test_so_is_one_that_a_file_beside_it_knows(script: str) -> None:
    package = Path(script).parent / "project"
    package.mkdir()
    (package / "options.py").write_text(ARGPARSE)
    assert parsed(script, "--json", "out.json")["args"] == ("--json", "out.json")
    # An environment beside the script says nothing about it.
    (package / "pyvenv.cfg").touch()
    assert parsed(script, "--json", "out.json")["args"] == ()


def test_names_in_the_code_may_be_options(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import fire\n\ndef main(json): ...\n")
    assert parsed(str(script), "--json", "out.json")["args"] == ("--json", "out.json")


def test_our_options_after_the_script(script: str) -> None:
    found = parsed(script, "--json", "out.json", "--epochs", "3", "-o", "page.html")
    assert (found["script"], found["args"]) == (script, ("--epochs", "3"))
    assert (str(found["json_output"]), str(found["output"])) == ("out.json", "page.html")
    assert parsed(script, "--diff", command="fix")["diff"] is True
    assert parsed(script, "--apply", "--unsafe", command="fix")["unsafe"] is True
    assert parsed(script, "--budget", "9", command="prove")["script"] == script


def test_a_module_is_left_alone() -> None:
    assert parsed("-m", "package", "--json", "out.json")["args"] == ("--json", "out.json")
