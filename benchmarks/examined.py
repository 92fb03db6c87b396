"""`fitdoctor run` on a folder with a `train.py`, as a user would type it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LONGEST_S = 300.0


def examined(folder: Path, keep: Path | None, *options: str) -> tuple[dict[str, Any] | None, str]:
    """The report, or None and why there is none. `keep`: where recording and screen go."""
    with tempfile.TemporaryDirectory(prefix="first-sight-") as scratch:
        kept = Path(scratch) if keep is None else keep
        kept.mkdir(parents=True, exist_ok=True)
        output = kept / "report.json"
        command = [sys.executable, "-m", "fitdoctor", "run", "--output-dir", str(kept)]
        command += ["--force", *options, "--json", str(output), "train.py"]
        with open(kept / "screen.txt", "w") as screen:
            try:
                subprocess.run(
                    command,
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=screen,
                    stdin=subprocess.DEVNULL,
                    timeout=LONGEST_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return None, f"no verdict within {LONGEST_S:.0f} s"
        if not output.exists():
            return None, (kept / "screen.txt").read_text()[-300:]
        report: dict[str, Any] = json.loads(output.read_text())
        return (report, "") if report["workloads"] else (None, "no training was seen")


def commit() -> str:
    """Of this checkout."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()
