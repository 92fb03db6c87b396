"""Where a setting comes from: the command line, then the variable, then pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import TRAINS, fake

from fitdoctor.cli.config import default_map
from fitdoctor.contract.errors import UsageError


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1", "[project]\nname = 'a'"])
def test_without_our_table_nothing_is_set(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    assert default_map(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.fitdoctor]\nbugdet = 5", "unknown key 'bugdet'"),
        ("[tool.fitdoctor]\nbudget = '5'", "budget is '5'"),
        ("[tool.fitdoctor]\nbudget = true", "budget is True"),
        ("[tool.fitdoctor]\nselect = 'IN'", "select is 'IN'"),
        ("[tool.fitdoctor]\ncolor = 'red'", "color is 'red'"),
        ("[tool]\nfitdoctor = 5", "not a table"),
        ("[tool.fitdoctor", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text)
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        default_map(tmp_path)


def test_a_near_miss_gets_a_hint(tmp_path: Path) -> None:
    write(tmp_path, "[tool.fitdoctor]\nbugdet = 5")
    with pytest.raises(UsageError) as caught:
        default_map(tmp_path)
    assert caught.value.advice == "did you mean 'budget'?"


def test_found_from_a_folder_below_and_relative_to_the_file(tmp_path: Path) -> None:
    write(tmp_path, "[tool.fitdoctor]\nbudget = 5\noutput-dir = 'recs'\nignore = ['CB']")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    defaults = default_map(below)
    assert defaults["run"]["budget"] == 5 and defaults["lint"] == {"ignore": ["CB"]}
    assert defaults["report"]["output_dir"] == str(tmp_path / "recs")


def test_precedence(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS.replace(".fitdoctor/", "*/"), encoding="utf-8")
    write(tmp_path, "[tool.fitdoctor]\noutput-dir = 'from-file'")
    fake("run", "-q", "train.py", cwd=tmp_path)
    assert list(tmp_path.glob("from-file/*.rec"))
    fake("run", "-q", "train.py", cwd=tmp_path, FITDOCTOR_OUTPUT_DIR="from-env")
    assert list(tmp_path.glob("from-env/*.rec"))
    option = ("--output-dir", "from-option")
    fake("run", "-q", *option, "train.py", cwd=tmp_path, FITDOCTOR_OUTPUT_DIR="from-env")
    assert list(tmp_path.glob("from-option/*.rec"))
    assert not (tmp_path / ".fitdoctor").exists()
    assert len(list(tmp_path.glob("*/*.rec"))) == 3


def test_unknown_rules_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')", encoding="utf-8")
    result = fake("run", "--select", "XX", "train.py", cwd=tmp_path)
    assert result.returncode == 2 and result.stdout == ""
    assert "no rule or family 'XX'" in result.stderr
