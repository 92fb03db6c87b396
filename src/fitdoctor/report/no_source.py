"""Leaves file names, paths, arguments and source text out, so that a report can be shared."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any

from fitdoctor.contract.records import Recording
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.finding import Cure

# What else looks like a path: in the message of an error, say.
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\:;,'\"<>|()]+){2,}|\b[\w.-]+\.(?:py|ipynb)\b")
_STAND_IN = re.compile(r"file-\d+\.py")
_HIDDEN = "…"
# Fields that describe the user's machine, not the training, and what they are replaced with.
_DROPPED: dict[str, Any] = {"cwd": None, "argv": (), "threads": None, "sources": {}}


def without_source(diagnosis: Diagnosis, recording: Recording) -> tuple[Diagnosis, Recording]:
    """The same diagnosis and recording with `file-1.py` and so on in place of real names.

    Names of layers and of callback classes stay: they say what was slow.
    """
    hidden = _Names(recording)
    return (
        dataclasses.replace(hidden.apply(diagnosis), recording=_HIDDEN),
        dataclasses.replace(hidden.apply(recording), path=_HIDDEN),
    )


class _Names:
    """Real names and what stands in for them; the same file gets the same number everywhere."""

    def __init__(self, recording: Recording) -> None:
        self._known: dict[str, str] = {}
        bases: dict[str, str] = {}
        for file in filter(None, (recording.header.script.path, *_files(recording))):
            base = os.path.basename(file) or file
            stand_in = bases.setdefault(base, f"file-{len(bases) + 1}.py")
            self._known |= {file: stand_in, base: stand_in}
        # Longer names first: a path before the base name that it ends with.
        ordered = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """A text without real names."""
        if self._pattern is not None:
            # The stand-ins hold no slash, so that the second pass leaves them alone.
            text = self._pattern.sub(lambda match: self._known[match.group()], text)
        return _PATH.sub(
            lambda match: match.group() if _STAND_IN.fullmatch(match.group()) else _HIDDEN, text
        )

    def apply(self, value: Any) -> Any:
        """The value with every text in it cleaned."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Cure):
            return Cure(value.safety, self.text(value.summary))  # edits are source text
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [one.name for one in dataclasses.fields(value)]
            kept = {n: self.apply(getattr(value, n)) for n in names if n not in _DROPPED}
            return type(value)(**kept, **{n: _DROPPED[n] for n in names if n in _DROPPED})
        if isinstance(value, dict):
            return {key: self.apply(one) for key, one in value.items()}
        if isinstance(value, tuple | list):
            return type(value)(self.apply(item) for item in value)
        return value


def _files(value: Any) -> list[str]:
    """Every file name that the recording holds, in order."""
    if isinstance(value, dict):
        own = [v for k, v in value.items() if k == "file" and isinstance(v, str)]
        return own + [file for v in value.values() for file in _files(v)]
    if isinstance(value, tuple | list):
        return [file for item in value for file in _files(item)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _files({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    return []
