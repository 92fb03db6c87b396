"""Copies of models and layers by themselves, on each backend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("model_script.py")


@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_models_and_layers(backend: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), backend],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "models hold" in done.stdout
