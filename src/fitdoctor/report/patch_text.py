"""A patch for people and for programs: what would be changed, what not, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fitdoctor.cures.patch import Applied, Declined, Patch
from fitdoctor.cures.prescription import Prescription
from fitdoctor.cures.source_text import digest
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.findings.finding import Finding
from fitdoctor.report.findings_table import MARKS
from fitdoctor.report.gain_words import gain_words
from fitdoctor.report.text import clean, place, without_controls
from fitdoctor.units import gain

SCHEMA = 1
_WHY = {
    "declined": "cannot be made here",
    "unsafe": "unsafe",
    "advice": "by hand",
    "already-there": "done",
    "not-chosen": "not needed",
    "packs": "stores data",
}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def render_patch(
    found: Prescription, *, written: bool, width: int, color: bool, root: Path | None = None
) -> str:
    """The screen of `fitdoctor fix`: one row per finding, then the diff."""
    console = _console(width, color=color)
    with console.capture() as capture:
        for line in _lines(found, written=written):
            console.print(line, soft_wrap=True)
        _print_diff(console, found.patch, root)
    return capture.get()


def render_diff(patch: Patch, *, width: int, color: bool) -> str:
    """The diff alone."""
    console = _console(width, color=color)
    with console.capture() as capture:
        _print_diff(console, patch, None)
    return capture.get()


def render_left_out(patch: Patch, *, width: int, color: bool) -> str:
    """The findings that the patch does nothing about, and why."""
    console = _console(width, color=color)
    with console.capture() as capture:
        for declined in patch.declined:
            for line in _declined(declined):
                console.print(line, soft_wrap=True)
    return capture.get()


def _console(width: int, *, color: bool) -> Console:
    return Console(
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        highlight=False,
        _environ={},
    )


def _print_diff(console: Console, patch: Patch, root: Path | None) -> None:
    for text in patch.diff(root).splitlines():
        is_name = text.startswith(("+++", "---"))
        style = "bold" if is_name else _DIFF_STYLES.get(text[:1], "")
        console.print(Text(without_controls(text), style=style), soft_wrap=True)


def _lines(found: Prescription, *, written: bool) -> Iterator[Text]:
    patch = found.patch
    findings = len(patch.applied) + len(patch.declined)
    verb = "Fixed" if written else "Would fix"
    if patch.applied and patch.files:
        count = len(patch.files)
        title = f"{verb} {len(patch.applied)} of {findings} findings in "
        title += f"{count} file{'s' if count != 1 else ''}"
        if found.gain is not None:
            title += f": {gain(found.gain)} predicted"
        yield Text(title, style="bold")
    elif found.written_before:
        yield Text("Nothing to change: the files have these changes already.", style="bold")
    elif findings:
        yield Text("No automatic fix.", style="bold")
    else:
        yield Text("Nothing to change: no findings.", style="bold")
    for applied in patch.applied:
        yield from _applied(applied)
    for declined in patch.declined:
        yield from _declined(declined)


def _head(finding: Finding) -> Text:
    where = place(finding.where.file, finding.where.line) if finding.where else ""
    return Text.assemble(
        "  ",
        (f"{clean(finding.rule)} {MARKS[finding.cure.safety]:<3} ", "bold"),
        f"{clean(finding.name)} ",
        (where, "cyan"),
        (f"  {gain_words(finding)}", "green"),
    )


def _applied(one: Applied) -> Iterator[Text]:
    yield _head(one.finding)
    for edit in one.edits:
        yield Text(f"        {place(edit.where.file, edit.where.line)}: {clean(edit.in_words())}")


def _declined(one: Declined) -> Iterator[Text]:
    yield _head(one.finding)
    if one.kind != "advice":
        yield Text(f"        {_WHY[one.kind]}: {clean(one.reason)}", style="yellow")
    if one.kind in ("declined", "advice"):
        yield Text(f"        do: {clean(one.advice)}")


def patch_to_json(found: Prescription, diagnosis: Diagnosis, *, written: bool) -> dict[str, Any]:
    """The patch as plain data."""
    patch = found.patch
    return {
        "schema": SCHEMA,
        "fitdoctor": diagnosis.version,
        "script": {"path": diagnosis.script, "argv": list(diagnosis.argv)},
        "recording": diagnosis.recording,
        "written": written,
        "written_before": [str(path) for path in found.written_before],
        "gain": found.gain.to_json() if found.gain is not None else None,
        "files": [
            {
                "path": str(path),
                "old_sha256": patch.sources[path].sha256,
                "new_sha256": digest(patch.new_bytes(path)),
            }
            for path in sorted(patch.files)
        ],
        "diff": patch.diff(),
        "applied": [
            {**one.finding.to_json(), "edits_made": [edit.in_words() for edit in one.edits]}
            for one in patch.applied
        ],
        "declined": [
            one.finding.to_json() | {"kind": one.kind, "reason": one.reason, "advice": one.advice}
            for one in patch.declined
        ],
    }
