"""`fitdoctor prove` and `boost` as commands: wrong use first, then pairs with a wide margin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from proof.scripts import write_script

QUICK = ("--budget", "40", "--max-runs", "6", "--precision", "20", "--steps", "40")


def fitdoctor(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fitdoctor", *args],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["prove"], "missing argument"),
        (["prove", "missing.py"], "there is no script missing.py"),
        (["prove", "ok.py", "missing.py"], "there is no script missing.py"),
        (["prove", "."], "is a folder"),
        (["prove", "--steps", "0", "ok.py", "ok.py"], "0 is not in the range"),
        (["prove", "--budget", "nan", "ok.py", "ok.py"], "nan is not a number"),
        (["prove", "--precision", "-1", "ok.py", "ok.py"], "not in the range"),
        (["prove", "--max-runs", "2", "ok.py", "ok.py"], "2 is not in the range"),
        (["prove", "--each", "ok.py", "ok.py"], "--each is about the cures of one script"),
        (["prove", "--pack", "dest", "ok.py", "ok.py"], "--pack is about the cures of one script"),
        (["prove", "--from", "x.rec", "ok.py", "ok.py"], "--from is about the cures of one script"),
        (["prove", "--from", "x.rec", "ok.py"], "there is no recording x.rec"),
        (["prove", "--json", "ok.py", "ok.py", "ok.py"], "exists already"),
        (["prove", "--json", "no/folder.json", "ok.py", "ok.py"], "cannot write"),
        (["prove", "-m", "no_such_module"], "there is no module no_such_module"),
        (["boost"], "missing argument"),
        (["boost", "missing.py"], "there is no script missing.py"),
        (["boost", "-m", "no_such_module"], "there is no module no_such_module"),
    ],
)
def test_wrong_use_is_refused_with_2(tmp_path: Path, args: list[str], said: str) -> None:
    (tmp_path / "ok.py").write_text("print('must not run')\n")
    done = fitdoctor(tmp_path, *args)
    assert done.returncode == 2
    assert said in done.stderr.lower() or said in done.stderr
    assert "must not run" not in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('no data here')\n", "no data here"),
        ("print('nothing to train')\n", "did not train"),
        ("import os; os.kill(os.getpid(), 9)\n", "killed by a signal"),
        ("def broken(:\n", "SyntaxError"),
    ],
)
def test_a_script_that_fails_or_never_trains_is_invalid(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "a.py").write_text(text)
    done = fitdoctor(tmp_path, "prove", "--json", "out.json", "a.py", "a.py")
    report = json.loads((tmp_path / "out.json").read_text())
    assert done.returncode == 1
    assert report["verdict"] == "invalid"
    assert said in report["reason"]
    assert (report["ratio"], report["low"], report["high"]) == (None, None, None)
    assert report["equivalence"]["data_stream"] == "not-checked"


def test_one_script_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("raise ValueError('no data here')\n")
    done = fitdoctor(tmp_path, "prove", "a.py")
    assert done.returncode == 1
    assert "no data here" in done.stderr


def test_boost_keeps_output_and_exit_code_of_a_script_it_cannot_help(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import sys\nprint('mine', sys.argv[1:])\nsys.exit(7)\n")
    done = fitdoctor(tmp_path, "boost", "a.py", "--", "-q", "x")
    assert done.returncode == 7
    assert done.stdout == "mine ['--', '-q', 'x']\n"
    assert "running it as it is" in done.stderr


@pytest.mark.end_to_end
@pytest.mark.measures
def test_a_fast_loader_is_proven(tmp_path: Path) -> None:
    # No epoch ends within the compared steps: JAX compiles there once, for 200 fast steps' time.
    # Steps of some length on both sides: one hiccup must not outweigh forty of them.
    write_script(tmp_path / "slow.py", delay=0.05, batches=100)
    write_script(tmp_path / "fast.py", delay=0.003, batches=100)
    done = fitdoctor(tmp_path, "prove", "--json", "out.json", *QUICK, "slow.py", "fast.py")
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["verdict"] == "proven", done.stderr + done.stdout
    assert done.returncode == 0
    assert report["ratio"] > 3
    assert report["runs"] >= 6
    assert report["equivalence"]["data_stream"] == "identical"
    assert report["equivalence"]["learning"] == "bitwise"
    assert report["predicted"] is None
    assert "Proven" in done.stdout


@pytest.mark.end_to_end
@pytest.mark.measures
def test_equal_scripts_are_not_proven(tmp_path: Path) -> None:
    # Each step sleeps 40 ms, so that both take the same whatever else the machine does.
    write_script(tmp_path / "a.py", delay=0.04)
    done = fitdoctor(tmp_path, "prove", "--no-check", *QUICK, "a.py", "a.py")
    assert done.returncode == 1
    assert "Proven" not in done.stdout


@pytest.mark.end_to_end
def test_a_crash_in_the_second_script_is_invalid(tmp_path: Path) -> None:
    write_script(tmp_path / "a.py")
    write_script(tmp_path / "b.py", broken="raise OSError('disk gone')")
    done = fitdoctor(tmp_path, "prove", "--json", "out.json", *QUICK, "a.py", "b.py")
    report = json.loads((tmp_path / "out.json").read_text())
    assert done.returncode == 1
    assert report["verdict"] == "invalid"
    assert "disk gone" in report["reason"]
