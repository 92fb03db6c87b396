"""`fitdoctor fix` on recordings made by hand: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cured import eager_recording

TEXT = "model = make()\nmodel.compile('sgd', run_eagerly=True)  # é\nmodel.fit(x)\n"
FIXED = TEXT.replace(", run_eagerly=True", "")


def fix(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fitdoctor", "fix", *args],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TEXT)
    eager_recording(tmp_path, path, line=2)
    return path


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--diff", "--apply"], "received both --diff and --apply"),
        (["--undo", "train.py"], "--undo takes nothing else"),
        (["--from", "a.rec", "train.py"], "received both the script train.py and a recording"),
        (["--select", "HO004,XY9"], "there is no rule 'XY9'"),
        (["--from", "gone.rec"], "there is no recording gone.rec"),
        (["gone.py"], "there is no script gone.py"),
        (["--undo"], "there is nothing to undo"),
        (["--budget", "nan", "train.py"], "nan is not a number"),
        (["-o", "out.txt"], "the extension of the output file decides its format"),
        (["--json", "no/such/folder.json"], "cannot write no/such/folder.json"),
        (["--from", "train.py"], "is not a fitdoctor recording"),
        (["--pack", "train.py"], "--pack 'train.py'"),
        (["--pack", ""], "--pack ''"),
        (["--undo", "--pack", "packed"], "--undo takes nothing else"),
    ],
)
def test_wrong_use(script: Path, args: list[str], error: str) -> None:
    done = fix(script.parent, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert error in done.stderr
    assert "Traceback" not in done.stderr
    assert script.read_text() == TEXT


def test_no_recording_and_no_script(tmp_path: Path) -> None:
    done = fix(tmp_path)
    assert done.returncode == 2
    assert "there is no recording in" in done.stderr


def test_nothing_to_cure_is_exit_code_0(script: Path) -> None:
    done = fix(script.parent, "--diff", "--ignore", "HO004")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "Nothing to change" in fix(script.parent, "--ignore", "ho004").stdout


def test_diff_is_only_the_diff(script: Path) -> None:
    done = fix(script.parent, "--diff")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,3 @@\n model = make()\n"
        "-model.compile('sgd', run_eagerly=True)  # é\n+model.compile('sgd')  # é\n model.fit(x)\n"
    )
    assert script.read_text() == TEXT


def test_shown_but_not_written(script: Path) -> None:
    done = fix(script.parent)
    assert done.returncode == 0
    assert done.stdout.startswith("Would fix 1 of 1 findings in 1 file: ")
    assert "HO004 [*] eager-execution train.py:3" in done.stdout
    assert "train.py:2: remove run_eagerly from compile()" in done.stdout
    assert "+model.compile('sgd')  # é\n" in done.stdout
    assert "apply: fitdoctor fix --from" in done.stderr
    assert script.read_text() == TEXT


def test_apply_is_done_once_and_undone(script: Path) -> None:
    done = fix(script.parent, "--apply", "-o", "out.json")
    assert done.returncode == 0
    assert done.stdout.startswith("Fixed 1 of 1 findings")
    assert script.read_text() == FIXED
    report = json.loads((script.parent / "out.json").read_text())
    assert (report["schema"], report["written"]) == (1, True)
    assert [one["rule"] for one in report["applied"]] == ["HO004"]
    assert report["applied"][0]["edits_made"] == ["remove run_eagerly from compile()"]
    assert report["files"][0]["path"] == str(script)
    assert report["gain"]["low"] <= report["gain"]["ratio"] <= report["gain"]["high"]
    for again in (["--diff"], ["--apply"], []):
        second = fix(script.parent, *again)
        assert second.returncode == 0
        assert "+" not in second.stdout
        assert script.read_text() == FIXED
    undone = fix(script.parent, "--undo")
    assert (undone.returncode, undone.stdout) == (0, "")
    assert f"put back {script}" in undone.stderr
    assert script.read_text() == TEXT
    assert fix(script.parent, "--diff").returncode == 1


def test_a_file_changed_since_the_recording(script: Path) -> None:
    script.write_text("# one line more\n" + TEXT)
    for how in ("--diff", "--apply"):
        done = fix(script.parent, how)
        assert (done.returncode, done.stdout) == (2, "")
        assert "train.py was changed since it was recorded" in done.stderr
    assert script.read_text() == "# one line more\n" + TEXT


def test_an_output_file_is_not_overwritten(script: Path) -> None:
    (script.parent / "out.json").write_text("mine")
    done = fix(script.parent, "--apply", "--json", "out.json")
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert script.read_text() == TEXT
    assert fix(script.parent, "--diff", "--json", "out.json", "--force").returncode == 1


def test_the_diff_as_a_file(script: Path) -> None:
    done = fix(script.parent, "--diff", "-o", "cure.patch")
    assert (script.parent / "cure.patch").read_text() == done.stdout != ""


def test_an_edit_that_cannot_be_made_is_advice_at_its_line(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXT.replace("run_eagerly=True", "run_eagerly=DEBUG"))
    eager_recording(tmp_path, script, line=2)
    done = fix(tmp_path)
    assert done.returncode == 0
    assert "cannot be made here: run_eagerly comes from `DEBUG`" in done.stdout
    assert "do: train.py:2: remove run_eagerly from compile()" in done.stdout


def test_escapes_in_the_source_do_not_steer_the_terminal(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("a = '\x1b[31m'\n" + TEXT)
    eager_recording(tmp_path, script, line=3)
    assert "\x1b" not in fix(tmp_path).stdout
    # A pipe gets the bytes, or `patch` would not find the line.
    assert " a = '\x1b[31m'" in fix(tmp_path, "--diff").stdout


@pytest.mark.end_to_end
def test_a_script_without_training(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('its own output')\n")
    done = fix(tmp_path, "--diff", "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "its own output" in done.stderr
    assert "no Keras training was seen" in done.stderr
