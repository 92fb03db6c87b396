"""Measured gains, kept as long as the two scripts of the case stay the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from casebook.case import Case
from casebook.gain import Gain


class GainCache:
    """A JSON file of gains by case id, each with the hash of the scripts it belongs to."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, case: Case) -> Gain | None:
        """The gain measured for exactly these scripts, or None."""
        entry = self._load().get(case.id)
        if entry is None or entry["scripts"] != scripts_hash(case):
            return None
        return Gain(entry["ratio"], entry["low"], entry["high"], entry["rounds"])

    def put(self, case: Case, gain: Gain) -> None:
        """Keep `gain`, in place of any earlier one of this case."""
        entries = self._load()
        entries[case.id] = {"scripts": scripts_hash(case), **asdict(gain)}
        text = json.dumps(entries, indent=1, sort_keys=True) + "\n"
        # Replaced in one move: an interrupted run must not leave half a file.
        partial = self._path.with_suffix(".partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(self._path)

    def _load(self) -> dict[str, Any]:
        try:
            entries = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return entries if isinstance(entries, dict) else {}


def scripts_hash(case: Case) -> str:
    """One hash over the scripts and their modules, and the backend where they leave it open."""
    digest = hashlib.sha256()
    for script in (case.slow, case.fixed, *case.modules):
        content = script.read_bytes()
        # The length first, so that text moved from one file to the other changes the hash.
        digest.update(str(len(content)).encode())
        digest.update(content)
        if b"KERAS_BACKEND" not in content:
            digest.update(case.backend.encode())
    return digest.hexdigest()
