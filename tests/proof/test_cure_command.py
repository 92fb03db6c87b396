"""`fitdoctor cure`: wrong use first, then a loader that waits, cured, written and put back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from proof.test_prove_command import fitdoctor

QUICK = ("--budget", "16", "--proof-budget", "40")
WAITS = Path(__file__).parents[2] / "casebook" / "S06" / "slow.py"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "there is no script"),
        (["missing.py"], "there is no script missing.py"),
        (["--undo", "ok.py"], "--undo takes nothing else"),
        (["--undo", "--apply"], "--undo takes nothing else"),
        (["--undo"], "there is nothing to undo"),
        (["--goal", "fastest", "ok.py"], "'fastest' is not one of"),
        (["--proof-budget", "0", "ok.py"], "not in the range"),
        (["--json", "ok.py", "ok.py"], "exists already"),
    ],
)
def test_wrong_use_is_refused_with_2(tmp_path: Path, args: list[str], said: str) -> None:
    (tmp_path / "ok.py").write_text("print('must not run')\n")
    done = fitdoctor(tmp_path, "cure", *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "must not run" not in done.stdout + done.stderr.replace("ok.py", "")
    assert "Traceback" not in done.stderr


def test_a_script_that_does_not_train_is_not_cured(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_text("print('nothing to train')\n")
    done = fitdoctor(tmp_path, "cure", "--apply", "a.py")
    assert done.returncode == 1
    assert "did not train with Keras" in done.stderr
    assert script.read_text() == "print('nothing to train')\n"


@pytest.mark.end_to_end
@pytest.mark.measures
def test_what_is_proven_is_written_and_put_back(tmp_path: Path) -> None:
    # Each batch waits 30 ms: four readers at once are 3x faster on any machine.
    script = tmp_path / "train.py"
    before = WAITS.read_bytes()
    script.write_bytes(before)
    done = fitdoctor(tmp_path, "cure", *QUICK, "--json", "out.json", "--apply", "train.py")
    report = json.loads((tmp_path / "out.json").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["verdict"] == "proven" and report["written"]
    assert report["ratio"] > 1.7
    assert report["equivalence"]["learning"] == "bitwise"
    assert script.read_bytes() != before
    assert "Proven" in done.stdout and "workers" in report["diff"]
    undone = fitdoctor(tmp_path, "cure", "--undo")
    assert undone.returncode == 0 and script.read_bytes() == before
    # The diff that was shown is one that `patch` takes.
    subprocess.run(["patch", "-p1"], cwd=tmp_path, input=report["diff"], text=True, check=True)
    assert script.read_bytes() != before
