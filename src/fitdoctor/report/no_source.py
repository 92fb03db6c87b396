"""Leaves file names, paths, arguments and source text out, so that a report can be shared."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, TypeVar

from fitdoctor.contract.records import Recording
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.finding import Cure

_T = TypeVar("_T")
# What else looks like a path: in the message of an error, say.
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\:;,'\"<>|()]+){2,}|\b[\w.-]+\.(?:py|ipynb)\b")
_HIDDEN = "…"
# Fields that describe the user's machine, not the training, and what they are replaced with.
_DROPPED: dict[str, Any] = {"cwd": None, "argv": (), "threads": None, "sources": {}}


def without_source(diagnosis: Diagnosis, recording: Recording) -> tuple[Diagnosis, Recording]:
    """The same diagnosis and recording with `file-1.py` and so on in place of real names.

    Names of layers and of callback classes stay: they say what was slow.
    """
    hidden = _Names(recording)
    shared = hidden.apply(diagnosis)
    return (
        dataclasses.replace(shared, recording=_HIDDEN),
        dataclasses.replace(hidden.apply(recording), path=_HIDDEN),
    )


class _Names:
    """Real names and what stands in for them; the same file gets the same number everywhere."""

    def __init__(self, recording: Recording) -> None:
        found: dict[str, None] = {}
        for file in (recording.header.script.path, *_files(recording)):
            if file:
                found.setdefault(file)
        self._known: dict[str, str] = {}
        bases: dict[str, str] = {}
        for file in found:
            base = os.path.basename(file) or file
            stand_in = bases.setdefault(base, f"file-{len(bases) + 1}.py")
            self._known[file] = stand_in
            self._known[base] = stand_in
        # Longer names first: a path before the base name that it ends with.
        ordered = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """A text without real names."""
        if self._pattern is not None:
            # The stand-ins hold no slash, so that the second pass leaves them alone.
            text = self._pattern.sub(lambda match: self._known[match.group()], text)
        return _PATH.sub(
            lambda match: match.group() if _is_stand_in(match.group()) else _HIDDEN, text
        )

    def apply(self, value: _T) -> _T:
        """The value with every text in it cleaned."""
        return self._applied(value)  # type: ignore[no-any-return]

    def _applied(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Cure):
            return Cure(value.safety, self.text(value.summary))  # edits are source text
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            found = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return type(value)(**{name: self._field(name, one) for name, one in found.items()})
        if isinstance(value, dict):
            return {key: self._applied(one) for key, one in value.items()}
        if isinstance(value, tuple | list):
            return type(value)(self._applied(item) for item in value)
        return value

    def _field(self, name: str, value: Any) -> Any:
        return _DROPPED[name] if name in _DROPPED else self._applied(value)


def _is_stand_in(text: str) -> bool:
    return re.fullmatch(r"file-\d+\.py", text) is not None


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
