"""`fitdoctor fix` on scripts of the casebook: examined, patched, and healthy afterwards."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from end_to_end.commands import environment

CASEBOOK = Path(__file__).parents[2] / "casebook"


def fix(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fitdoctor", "fix", *args],
        cwd=folder,
        env=environment("tensorflow"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("case", "removed", "added"),
    [
        (
            "S25",
            '-model.compile(optimizer="adam", loss="mse", run_eagerly=True)',
            '+model.compile(optimizer="adam", loss="mse")',
        ),
    ],
)
def test_the_cure_of_a_case_is_one_line(
    case: str, removed: str, added: str, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    shutil.copy(CASEBOOK / case / "slow.py", script)
    before = script.read_text()
    done = fix(tmp_path, "--diff", "--budget", "16", "train.py")
    assert done.returncode == 1, done.stderr[-3000:]
    changed = [line for line in done.stdout.splitlines() if line[:1] in "+-"]
    assert changed == [
        "--- a/train.py",
        "+++ b/train.py",
        removed,
        added.replace("workers=4", _workers(done.stdout)),
    ]
    assert script.read_text() == before
    assert fix(tmp_path, "--apply").returncode == 0
    assert added.split("=")[0][1:] in script.read_text()
    assert fix(tmp_path, "--diff").returncode == 0
    compile(script.read_text(), "train.py", "exec")


def _workers(diff: str) -> str:
    """As many as this machine's cores allow."""
    found = [line for line in diff.splitlines() if line.startswith("+") and "workers=" in line]
    return "workers=" + found[0].split("workers=")[1].rstrip(")") if found else "workers=4"
