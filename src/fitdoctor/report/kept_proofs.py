"""Proofs are kept beside the recordings, so that a report finds the one of its script."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import Recording
from fitdoctor.launch.recording_files import make_folder
from fitdoctor.report.proof_file import Proof, read_proof

KEPT = 20
_PATTERN = "*.proof.json"


def keep(folder: Path, script: str, proof: dict[str, Any]) -> None:
    """Write a proof down with the version of the script that it is about.

    A folder that cannot be written to is no reason to lose a proof that was asked for.
    """
    path = Path(script).resolve()
    try:
        about = {"script": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        make_folder(folder)
        name = f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{path.stem}.proof.json"
        (folder / name).write_text(json.dumps({**proof, "about": about}), encoding="utf-8")
        for old in sorted(folder.glob(_PATTERN))[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def kept_proof(folder: Path, recording: Recording) -> Proof | None:
    """The newest proof of the very script that was recorded, if there is one."""
    cwd = Path(recording.header.cwd or ".")
    recorded = {str((cwd / file).resolve()): digest for file, digest in recording.sources.items()}
    for path in sorted(folder.glob(_PATTERN), reverse=True):
        try:
            about = json.loads(path.read_text(encoding="utf-8"))["about"]
            if recorded.get(about["script"]) == about["sha256"]:
                return read_proof(path)
        except (OSError, ValueError, KeyError, TypeError, UsageError):  # torn, or not ours
            continue
    return None
