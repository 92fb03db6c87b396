"""Bad use of every kind: nothing on stdout, at most three lines on stderr, exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import REAL, TRAINS, fake, run

SCRIPT = "open('ran', 'w')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "binary.py").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("open('imported', 'w')")
    (tmp_path / "out.json").write_text("precious")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "foreign.rec").write_text("hello\n")
    return tmp_path


BAD_USE = [
    (["run"], "missing argument 'SCRIPT'"),
    (["run", "nope.py"], "there is no script nope.py"),
    (["run", "package"], "package is a folder"),
    (["run", "binary.py"], "binary.py is not a Python script"),
    (["run", "-m", "nope"], "there is no module nope"),
    (["run", "-m", "package"], "there is no module package.__main__"),
    (["run", "-m", "package.nope"], "there is no module package.nope"),
    (["run", "-m", "json.tool.nope"], "there is no module json.tool.nope"),
    (["run", "--bogus", "train.py"], "no such option"),
    (["run", "--budget", "0", "train.py"], "invalid value for '--budget'"),
    (["run", "--budget", "nan", "train.py"], "'--budget'"),
    (["run", "--budget", "soon", "train.py"], "invalid value for '--budget'"),
    (["run", "--color", "blue", "train.py"], "invalid value for '--color'"),
    (["run", "-o", "out.pdf", "train.py"], "decides its format"),
    (["run", "-o", "out.json", "train.py"], "out.json exists already"),
    (["run", "--json", "out.json", "train.py"], "out.json exists already"),
    (["run", "-o", "nowhere/out.json", "train.py"], "cannot write nowhere/out.json"),
    (["run", "-o", "folder.json", "train.py"], "cannot write folder.json: Is a directory"),
    (["report"], "there is no recording in"),
    (["report", "nope.rec"], "there is no recording nope.rec"),
    (["report", "a", "b"], "unexpected extra argument"),
    (["rule"], "received no rule"),
    (["rule", "--all", "IN002"], "received both"),
    (["bogus"], "no such command"),
]


@pytest.mark.parametrize("command", REAL, ids=["fitdoctor", "python -m"])
@pytest.mark.parametrize(("args", "message"), BAD_USE, ids=[" ".join(use) for use, _ in BAD_USE])
def test_bad_use(folder: Path, command: list[str], args: list[str], message: str) -> None:
    result = run(command, *args, cwd=folder)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fitdoctor · error: ")
    assert message.lower() in result.stderr.lower()
    assert len(result.stderr.splitlines()) <= 3
    # Nothing ran, nothing was touched.
    assert not (folder / "ran").exists()
    assert not (folder / "imported").exists()
    assert not (folder / ".fitdoctor").exists()
    assert (folder / "out.json").read_text() == "precious"


def test_the_whole_message_has_three_parts(folder: Path) -> None:
    result = run(REAL[1], "run", "-o", "out.json", "train.py", cwd=folder)
    assert result.stderr == (
        "fitdoctor · error: out.json exists already and is not overwritten\n"
        "  expected: a file name that is not in use\n"
        "  try:      another name, or --force\n"
    )


def test_no_arguments_show_the_help(folder: Path) -> None:
    result = run(REAL[1], cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert "Usage: fitdoctor" in result.stderr


def test_a_folder_that_cannot_hold_recordings(folder: Path) -> None:
    (folder / ".fitdoctor").write_text("a file")
    result = run(REAL[1], "run", "train.py", cwd=folder)
    assert result.returncode == 2
    assert "cannot write a recording" in result.stderr
    assert not (folder / "ran").exists()


def test_a_hostile_name_does_not_steer_the_terminal(folder: Path) -> None:
    result = run(REAL[1], "run", "\x1b]0;owned\x07\x1b[2J\rnope.py", cwd=folder)
    assert result.returncode == 2
    assert not set(result.stderr) & {"\x1b", "\x07", "\r"}


def test_a_script_that_never_trains(folder: Path) -> None:
    result = fake("run", "train.py", cwd=folder)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "error: no Keras training was seen in train.py" in result.stderr
    assert (folder / "ran").exists()


@pytest.mark.parametrize("ending", ["raise SystemExit(3)", "1 / 0"])
def test_a_script_that_fails_before_training_keeps_its_code(folder: Path, ending: str) -> None:
    (folder / "train.py").write_text(ending)
    result = fake("run", "train.py", cwd=folder)
    assert result.returncode == (3 if "3" in ending else 1)
    assert "no Keras training was seen" in result.stderr


def test_a_foreign_recording(folder: Path) -> None:
    result = fake("report", "foreign.rec", cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("fitdoctor · error: foreign.rec is not a recording")


def test_an_unknown_rule_names_close_ones(folder: Path) -> None:
    result = fake("rule", "IN02", cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert "there is no rule 'IN02'" in result.stderr
    assert "IN002" in result.stderr


@pytest.mark.parametrize(("ending", "code"), [("", 2), ("raise SystemExit(3)", 3)])
def test_a_bug_of_ours_is_shown_and_the_scripts_failure_kept(
    folder: Path, ending: str, code: int
) -> None:
    (folder / "train.py").write_text(TRAINS + ending)
    result = fake("run", "train.py", cwd=folder, FAKE_BUG="1")
    assert result.returncode == code
    assert result.stdout == "the script's own output\n"
    assert "ZeroDivisionError: a bug of ours" in result.stderr
    assert result.stderr.endswith("please report it with the lines above\n")
