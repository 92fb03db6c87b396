"""RECORDING -> PATCH of the very files that were recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.records import Recording
from fitdoctor.cures.choice import choose, predicted
from fitdoctor.cures.draft import DeclinedEdit
from fitdoctor.cures.patch import Declined, Patch, plan
from fitdoctor.cures.source_text import Source, decoded, digest
from fitdoctor.cures.undo import kept
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval


@dataclass(frozen=True)
class Prescription:
    """What to change, and what it is predicted to gain."""

    patch: Patch
    gain: Interval | None  # of the cures in the patch together
    written_before: tuple[Path, ...] = ()  # files that have these very changes already


def prescribe(
    recording: Recording,
    diagnosis: Diagnosis,
    *,
    unsafe: bool = False,
    wanted: Callable[[Finding], bool] = lambda finding: True,
    base: Path | None = None,
    pack: str | None = None,
    in_process: bool = False,
) -> Prescription:
    """The patch for the findings of a recording.

    Args:
        recording: It has the digests of the files that its lines are of.
        diagnosis: Its findings.
        unsafe: Also make cures that may change the training.
        wanted: Which findings to cure.
        base: The folder with `.fitdoctor/`, where patches written before are kept.
        pack: The folder for cures that store data; None: such cures are not made.
        in_process: Make cures that the source cannot take in the running script.

    Raises:
        RecordingError: A file to be changed is not the one that was recorded.
    """
    roots = project_roots(recording)
    impossible: list[Finding] = []
    while True:
        packs = pack is not None
        chosen, left_out = choose(
            diagnosis, unsafe=unsafe, wanted=wanted, impossible=impossible, packs=packs
        )
        sources, written = _as_recorded(recording, chosen, roots, base or Path.cwd(), unsafe)
        patch = plan(
            chosen,
            unsafe=unsafe,
            roots=roots,
            sources=sources,
            pack=pack,
            in_process=in_process,
        )
        declined = [one.finding for one in patch.declined if one.kind == "declined"]
        if len(declined) == len(impossible) or not left_out:
            break
        # A cure that was left out for one that cannot be made may be made now.
        impossible = declined
    return _without_written(patch, left_out, written, diagnosis)


def _without_written(
    patch: Patch, left_out: list[Declined], written: dict[Path, str], diagnosis: Diagnosis
) -> Prescription:
    """The patch without files that a patch of ours has changed already, in the very same way."""
    for path in written:
        if path not in patch.files or digest(patch.new_bytes(path)) != written[path]:
            raise _changed(path, "was fixed with other cures since it was recorded")
    files = {path: change for path, change in patch.files.items() if path not in written}
    whole = replace(patch, files=files, declined=(*patch.declined, *left_out))
    gain = predicted(diagnosis, [one.finding for one in patch.applied])
    return Prescription(whole, gain, tuple(sorted(written)))


def project_roots(recording: Recording) -> list[Path]:
    """The folders that are the user's project: where the script ran, and where it lies."""
    folder = Path(recording.header.cwd or os.getcwd())
    script = recording.header.script
    if not script.path or script.module:
        return [folder]
    return [folder, (folder / script.path).parent]


def _as_recorded(
    recording: Recording, findings: Iterable[Finding], roots: list[Path], base: Path, unsafe: bool
) -> tuple[dict[Path, Source], dict[Path, str]]:
    """The files to be changed as they were recorded; and the digests of those that a patch
    of ours has changed since.
    """
    recorded = {(roots[0] / file).resolve(): found for file, found in recording.sources.items()}
    sources: dict[Path, Source] = {}
    written: dict[Path, str] = {}
    for path in sorted(_edited_files(findings, roots[0], unsafe)):
        if not path.is_file():
            continue  # planning says so
        if not recording.sources:
            raise RecordingError(
                f"{recording.path} does not say which version of {path.name} it was made with",
                expected="a recording of this version of fitdoctor",
                advice=f"fitdoctor fix {path.name}",
            )
        if recorded.get(path) is None:
            raise _changed(path, "was changed while the script ran")
        data = path.read_bytes()
        if digest(data) != recorded[path]:
            written[path] = digest(data)
            data = _before_our_patch(path, str(recorded[path]), written[path], base)
        try:
            sources[path] = decoded(path, data)
        except DeclinedEdit:
            continue  # planning meets it again, and declines with the reason
    return sources, written


def _edited_files(findings: Iterable[Finding], folder: Path, unsafe: bool) -> set[Path]:
    return {
        (folder / edit.where.file).resolve()
        for finding in findings
        if finding.cure.safety == "safe" or unsafe
        for edit in finding.cure.edits
    }


def _before_our_patch(path: Path, recorded: str, now: str, base: Path) -> bytes:
    """The recorded file, if what lies there now is what we made of it."""
    for undo in kept(base):
        for file in undo.files:
            ours = file.old_sha256 == recorded and file.new_sha256 == now
            if ours and file.path.resolve() == path and file.old.is_file():
                return file.old.read_bytes()
    raise _changed(path, "was changed since it was recorded")


def _changed(path: Path, what: str) -> RecordingError:
    return RecordingError(
        f"{path} {what}, so its lines may have moved",
        expected="the file that was recorded",
        advice="fitdoctor fix SCRIPT examines it again",
    )
