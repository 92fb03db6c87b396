"""Every private seam of Keras and its backends, used for real: fails loudly when one moves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("seams_script.py")


@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_seams(backend: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), backend, str(tmp_path / "a.rec")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "seams hold" in done.stdout


@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_hand_written_loops(backend: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT.with_name("loops_script.py")), backend, str(tmp_path / "a")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "loops hold" in done.stdout
