"""The change of the source that each finding's cure would make, where there is an automatic fix."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.records import Recording
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.finding import Finding

Line = tuple[str, str]  # its kind (added, removed, place, same) and its text
_KINDS = {"+": "added", "-": "removed", "@": "place"}


def finding_diff(
    finding: Finding, diagnosis: Diagnosis, recording: Recording, cwd: str | None
) -> tuple[Line, ...]:
    """The lines of the diff of one cure; none where it cannot be made, or the file has changed."""
    if not finding.as_edited.cure.edits:
        return ()
    # LibCST is slow to import, and most findings need none of it.
    from fitdoctor.cures.prescription import prescribe

    folder = Path(cwd) if cwd is not None else Path.cwd()
    try:
        found = prescribe(
            recording, diagnosis, unsafe=True, wanted=lambda one: one is finding, base=folder
        )
    except FitdoctorError:  # the file is another one now: `fitdoctor fix` says which, and why
        return ()
    return tuple(_lines(found.patch.diff(folder).splitlines()))


def _lines(diff: list[str]) -> Iterator[Line]:
    for line, following in itertools.pairwise([*diff, ""]):
        # Two lines name the file; a removed line of two dashes is followed by no such line.
        names = line.startswith("--- ") and following.startswith("+++ ")
        names |= line.startswith("+++ ") and following.startswith("@@ ")
        yield "place" if names else _KINDS.get(line[:1], "same"), line
