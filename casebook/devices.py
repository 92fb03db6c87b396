"""Ask `fitdoctor devices` which device a case's slow.py should use."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from casebook.case import Case
from casebook.process import last_line, run_process

TIMEOUT_S = 300.0


def advised_device(case: Case, *, keep: Path | None = None) -> str:
    """`cpu` or `gpu`, or the reason why nothing was advised."""
    with tempfile.TemporaryDirectory(prefix=f"casebook-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, *case.modules):
            shutil.copy(script, folder / script.name)
        finished = run_process(
            [sys.executable, "-m", "fitdoctor", "devices", "-o", "devices.json", "slow.py"],
            folder=folder,
            env=case.environment,
            timeout_s=TIMEOUT_S,
        )
        path = folder / "devices.json"
        if not path.is_file():
            return f"nothing ({last_line(finished.stderr)})"
        text = path.read_text(encoding="utf-8")
    if keep is not None:
        (keep / case.id).mkdir(parents=True, exist_ok=True)
        (keep / case.id / "devices.json").write_text(text, encoding="utf-8")
        (keep / case.id / "devices.txt").write_text(finished.stdout, encoding="utf-8")
    return str(json.loads(text).get("better"))
