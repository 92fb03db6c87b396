"""Keras 2, where it is installed: fails loudly when one of its seams moves."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HAS_KERAS2 = importlib.util.find_spec("tf_keras") is not None


@pytest.mark.end_to_end
@pytest.mark.skipif(
    not HAS_KERAS2, reason="tf_keras is not installed (it brings all of TensorFlow)"
)
def test_steps_waits_and_callbacks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("keras2_script.py"), str(tmp_path / "a.rec")],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "seams hold"
