"""`fitdoctor fix`: the cures as a patch of the user's own source."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.examined import examined
from fitdoctor.cli.judging import no_training, recording_path
from fitdoctor.cli.output import (
    COLORS,
    Color,
    checked_outputs,
    sayer,
    terminal_width,
    use_color,
    write,
    write_bytes,
    write_json,
)
from fitdoctor.cli.put_back import put_back
from fitdoctor.cli.record import Verbosity
from fitdoctor.cli.script_command import script_command
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import Script

if TYPE_CHECKING:
    from fitdoctor.cures.patch import Patch
    from fitdoctor.cures.prescription import Prescription
    from fitdoctor.findings.diagnosed import Diagnosis
    from fitdoctor.findings.finding import Finding

WOULD_CHANGE = 1
FORMATS = (".json", ".diff", ".patch")


@dataclass(frozen=True)
class Wish:
    """What to do with the patch, and which cures to put into it."""

    diff: bool
    apply: bool
    unsafe: bool
    pack: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is to be cured."""
        chosen = not self.select or finding.rule in self.select
        return chosen and finding.rule not in self.ignore


@script_command("fix", "Show or apply the cures as a patch of your source.", required=False)
@shared.recording("Use this recording instead of running a script.")
@click.option("--diff", is_flag=True, help="Print only the diff; exit code 1 if there is one.")
@click.option("--apply", is_flag=True, help="Write the changes; the old files are kept.")
@click.option("--undo", is_flag=True, help="Put back the files of the last --apply.")
@shared.unsafe
@shared.pack
@click.option("--select", metavar="CODES", default="", help="Only these rules: IN002,HO004.")
@click.option("--ignore", metavar="CODES", default="", help="Not these rules.")
@shared.file_option(
    "-o",
    "--output",
    text="Also write the result to a .json file, or the diff to a .diff or .patch file.",
)
@shared.json_output
@shared.force
@shared.budget(shared.EXAMINED_TIME)
@shared.quiet
@click.option("--color", type=click.Choice(COLORS), default="auto", show_default=True)
def command(
    *,
    script: Script | None,
    recording: Path | None,
    undo: bool,
    output: Path | None,
    json_output: Path | None,
    force: bool,
    budget: float,
    quiet: bool,
    color: Color,
    **wish: Any,
) -> int:
    """Show the cures of SCRIPT as a patch; with --apply, write it.

    SCRIPT runs with its own ARGS and is examined as in `fitdoctor run`. Without SCRIPT the newest
    recording of this folder is used, or the one given with --from.
    """
    wish["select"], wish["ignore"] = _codes(wish["select"]), _codes(wish["ignore"])
    wanted = Wish(**wish)
    _check_use(script, recording, undo=undo, wanted=wanted)
    if undo:
        return put_back(sayer(quiet=quiet))
    outputs = checked_outputs(output, json_output, force=force, formats=FORMATS)
    verbosity = Verbosity(quiet=quiet, verbose=False, color=color)
    if script is not None:
        recording = examined(script, budget, verbosity)
    found, diagnosis = _prescription(recording, wanted)
    if wanted.apply and found.patch:
        from fitdoctor.cures.writing import write_patch

        write_patch(found.patch, Path.cwd())
    for path, suffix in outputs:
        _write_output(path, suffix, found, diagnosis, applied=wanted.apply)
    return _show(found, wanted, diagnosis, verbosity)


def _check_use(script: Script | None, recording: Path | None, *, undo: bool, wanted: Wish) -> None:
    if undo and (script or recording or wanted.apply or wanted.diff or wanted.pack):
        raise UsageError("--undo takes nothing else", advice="fitdoctor fix --undo")
    if wanted.apply and wanted.diff:
        raise UsageError(
            "received both --diff and --apply",
            expected="--diff to look, --apply to write",
            advice="fitdoctor fix --diff train.py",
        )
    if script is not None and recording is not None:
        raise UsageError(
            f"received both the script {script.path} and a recording",
            expected="a script to examine, or a recording made before",
            advice=f"fitdoctor fix --from {recording}",
        )


def _codes(text: str) -> tuple[str, ...]:
    from fitdoctor.rules import all_rules

    given = tuple(code.strip().upper() for code in text.split(",") if code.strip())
    known = {rule.code for rule in all_rules()} if given else set()
    for code in given:
        if code not in known:
            raise UsageError(
                f"there is no rule {code!r}",
                expected="codes of rules with commas between: IN002,HO004",
                advice="fitdoctor rule --all",
            )
    return given


def _prescription(recording: Path | None, wanted: Wish) -> tuple[Prescription, Diagnosis]:
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.cures.prescription import prescribe
    from fitdoctor.diagnosis import diagnose

    read = read_recording(recording_path(recording))
    diagnosis = diagnose(read)
    if not diagnosis.workloads:
        raise no_training(diagnosis)
    found = prescribe(read, diagnosis, unsafe=wanted.unsafe, wanted=wanted.wants, pack=wanted.pack)
    return found, diagnosis


def _write_output(
    path: Path, suffix: str, found: Prescription, diagnosis: Diagnosis, *, applied: bool
) -> None:
    from fitdoctor.report.patch_text import patch_to_json

    if suffix == ".json":
        write_json(path, patch_to_json(found, diagnosis, written=applied and bool(found.patch)))
    else:
        write_bytes(path, found.patch.diff_bytes())


def _show(found: Prescription, wanted: Wish, diagnosis: Diagnosis, verbosity: Verbosity) -> int:
    if wanted.diff:
        _print_diff(found.patch)
        unsafe = sum(one.kind == "unsafe" for one in found.patch.declined)
        if unsafe:
            verbosity.say(f"{unsafe} more with --unsafe: may change numbers or order")
        return WOULD_CHANGE if found.patch else 0
    if verbosity.quiet:
        return 0
    from fitdoctor.report.patch_text import render_patch

    text = render_patch(
        found,
        written=wanted.apply,
        width=terminal_width(sys.stdout),
        color=use_color(verbosity.color, sys.stdout),
    )
    write(sys.stdout, text)
    if found.patch:
        pack = f" --pack {shlex.quote(wanted.pack)}" if wanted.pack is not None else ""
        again = f"fitdoctor fix --from {diagnosis.recording}{pack} --apply"
        verbosity.say("undo: fitdoctor fix --undo" if wanted.apply else f"apply: {again}")
    return 0


def _print_diff(patch: Patch) -> None:
    """To a pipe byte for byte, so that `patch` takes it; to a terminal without controls."""
    if sys.stdout.isatty():
        from fitdoctor.report.text import without_controls

        lines = patch.diff().splitlines()
        write(sys.stdout, "".join(without_controls(line) + "\n" for line in lines))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(patch.diff_bytes())
        sys.stdout.buffer.flush()
