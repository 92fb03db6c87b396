"""Every command in the documentation can be given as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from fitdoctor.cli import cli
from fitdoctor.cli.target import misplaced_option

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands() -> list[str]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fenced = re.findall(r"^```(?:bash|yaml)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for line in "\n".join(fenced).splitlines():
            match = re.match(r"\s*(?:\$ |- run: )?(fitdoctor .*)", line)
            if match and "…" not in match[1]:
                found.append(match[1])
    return sorted(set(found))


@pytest.mark.parametrize("line", commands())
def test_it_is_understood(line: str) -> None:
    _, *words = shlex.split(line, comments=True)
    with click.Context(cli, info_name="fitdoctor") as context:
        command = cli.get_command(context, words[0])
        assert command is not None
        inner = command.make_context(words[0], words[1:], parent=context)
    assert misplaced_option(list(inner.params.get("args") or ())) == ""


def test_there_are_some() -> None:
    assert len(commands()) > 15


def test_an_output_behind_the_script_is_noticed(tmp_path: Path) -> None:
    assert misplaced_option(["--epochs", "1"]) == ""
    assert misplaced_option(["-o", "weights.h5"]) == ""
    assert misplaced_option(["-o", str(tmp_path / "a.html")]) == f"-o {tmp_path / 'a.html'}"
    (tmp_path / "a.html").touch()  # the script's own
    assert misplaced_option(["-o", str(tmp_path / "a.html")]) == ""
