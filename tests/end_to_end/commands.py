"""Running fitdoctor on scripts in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def environment(backend: str) -> dict[str, str]:
    """The environment of a script that trains on this backend."""
    return {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}


def run(
    script: Path, folder: Path, *options: str, backend: str = "tensorflow", timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """`fitdoctor run` on a script, from a folder of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fitdoctor", "run", *options, str(script)],
        cwd=folder,
        env=environment(backend),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def diagnose(
    script: Path, folder: Path, *options: str, backend: str = "tensorflow"
) -> dict[str, Any]:
    """The JSON report of a script."""
    out = folder / "out.json"
    done = run(script, folder, "-o", str(out), "--force", *options, backend=backend)
    assert out.exists(), done.stderr[-3000:]
    report: dict[str, Any] = json.loads(out.read_text())
    return report
