"""What a shell is offered; the shells' own code is click's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import run

FITDOCTOR = [str(Path(sys.executable).with_name("fitdoctor"))]


def offered(folder: Path, words: str) -> list[str]:
    count = str(len(words.split(" ")) - 1)
    environment = {"_FITDOCTOR_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    return run(FITDOCTOR, cwd=folder, **environment).stdout.splitlines()


@pytest.mark.parametrize("command", ["run", "fix", "prove", "boost", "devices", "scale"])
def test_scripts_are_completed_as_files(tmp_path: Path, command: str) -> None:
    assert offered(tmp_path, f"fitdoctor {command} tr") == ["file,tr"]


def test_what_follows_the_script_is_its_own(tmp_path: Path) -> None:
    assert offered(tmp_path, "fitdoctor run train.py da") == ["file,da"]


def test_rules_are_completed_by_code_and_by_name(tmp_path: Path) -> None:
    assert "plain,IN001" in offered(tmp_path, "fitdoctor rule IN0")
    assert offered(tmp_path, "fitdoctor rule serial") == ["plain,IN002"]
    assert "plain,CB001" in offered(tmp_path, "fitdoctor lint --select CB")


def test_commands_are_completed(tmp_path: Path) -> None:
    assert offered(tmp_path, "fitdoctor co") == ["plain,compare"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(tmp_path: Path, shell: str) -> None:
    text = run(FITDOCTOR, cwd=tmp_path, _FITDOCTOR_COMPLETE=f"{shell}_source").stdout
    assert "_FITDOCTOR_COMPLETE" in text
