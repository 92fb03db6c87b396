"""`fitdoctor fix`: the cures as a patch of the user's own source."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import (
    COLORS,
    Color,
    check_writable,
    say,
    terminal_width,
    use_color,
    write,
    write_bytes,
)
from fitdoctor.cli.record import Verbosity, record
from fitdoctor.cli.script_command import ScriptCommand
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script

if TYPE_CHECKING:
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


@click.command(
    "fix",
    cls=ScriptCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Show or apply the cures as a patch of your source.",
)
@shared.module
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
@click.argument("script", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    script: str | None,
    args: tuple[str, ...],
    module: bool,
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

    SCRIPT is run with its own ARGS and examined as by `fitdoctor run`. Without SCRIPT the
    newest recording of this folder is used, or the one given with --from.
    """
    wish["select"], wish["ignore"] = _codes(wish["select"]), _codes(wish["ignore"])
    wanted = Wish(**wish)
    _check_use(script, recording, undo=undo, wanted=wanted)
    if undo:
        return _undo(quiet=quiet)
    outputs = _checked_outputs(output, json_output, force=force)
    verbosity = Verbosity(quiet=quiet, verbose=False, color=color)
    if script is not None:
        recording = _examined(Script(script, args, module), budget, verbosity)
    found, diagnosis = _prescription(recording, wanted)
    if wanted.apply:
        _write(found)
    for path, as_json in outputs:
        _write_output(path, found, diagnosis, as_json=as_json, written=wanted.apply)
    return _show(found, wanted, diagnosis, verbosity)


def _check_use(script: str | None, recording: Path | None, *, undo: bool, wanted: Wish) -> None:
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
            f"received both the script {script} and a recording",
            expected="a script to examine, or a recording made before",
            advice=f"fitdoctor fix --from {recording}",
        )


def _checked_outputs(
    output: Path | None, json_output: Path | None, *, force: bool
) -> list[tuple[Path, bool]]:
    """The files to write, and whether each is JSON rather than the diff."""
    outputs: list[tuple[Path, bool]] = []
    if output is not None:
        if output.suffix.lower() not in FORMATS:
            raise UsageError(
                f"the extension of the output file decides its format; received {output.name!r}",
                expected=" or ".join(FORMATS),
                advice=f"-o {output.with_suffix('.json').name}",
            )
        outputs.append((output, output.suffix.lower() == ".json"))
    if json_output is not None:
        outputs.append((json_output, True))
    for path, _ in outputs:
        check_writable(path, force=force)
    return outputs


def _codes(text: str) -> tuple[str, ...]:
    from fitdoctor.rules import all_rules

    given = [code.strip().upper() for code in text.split(",") if code.strip()]
    known = {rule.code for rule in all_rules()} if given else set()
    for code in given:
        if code not in known:
            raise UsageError(
                f"there is no rule {code!r}",
                expected="codes of rules with commas between: IN002,HO004",
                advice="fitdoctor rule --all",
            )
    return tuple(given)


def _undo(*, quiet: bool) -> int:
    from fitdoctor.cures.writing import take_back

    undone = take_back(Path.cwd())
    if not quiet:
        for file in undone.files:
            say(f"put back {file.path}")
    return 0


def _examined(script: Script, budget: float, verbosity: Verbosity) -> Path:
    """Run the examination; the script's output goes to stderr, since stdout is for the patch."""
    from fitdoctor.cli.target import check_module, check_script
    from fitdoctor.launch.launcher import end_like

    (check_module if script.module else check_script)(script.path)
    sys.stderr.flush()
    path, outcome = record(script, RunOptions(budget_s=budget), verbosity, stdout=2)
    if outcome.signal is not None and not outcome.overstayed:
        end_like(outcome)  # Ctrl-C, or killed: nothing is changed after that
    if outcome.code:
        verbosity.say(f"the script ended with exit code {outcome.code}")
    return path


def _prescription(recording: Path | None, wanted: Wish) -> tuple[Prescription, Diagnosis]:
    from fitdoctor.cli.report import existing, no_training
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.cures.prescription import prescribe
    from fitdoctor.diagnosis import diagnose

    read = read_recording(existing(recording))
    diagnosis: Diagnosis = diagnose(read)
    if not diagnosis.workloads:
        raise no_training(diagnosis)
    wants: Callable[[Finding], bool] = wanted.wants
    found = prescribe(read, diagnosis, unsafe=wanted.unsafe, wanted=wants, pack=wanted.pack)
    return found, diagnosis


def _write(found: Prescription) -> None:
    from fitdoctor.cures.writing import write_patch

    if found.patch:
        write_patch(found.patch, Path.cwd())


def _write_output(
    path: Path, found: Prescription, diagnosis: Diagnosis, *, as_json: bool, written: bool
) -> None:
    from fitdoctor.report.patch_text import patch_to_json

    data = found.patch.diff_bytes()
    if as_json:
        report = patch_to_json(found, diagnosis, written=written and bool(found.patch))
        data = json.dumps(report, indent=2).encode() + b"\n"
    write_bytes(path, data)


def _show(found: Prescription, wanted: Wish, diagnosis: Diagnosis, verbosity: Verbosity) -> int:
    if wanted.diff:
        _print_diff(found)
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


def _print_diff(found: Prescription) -> None:
    """To a pipe byte for byte, so that `patch` takes it; to a terminal without controls."""
    if sys.stdout.isatty():
        from fitdoctor.report.text import without_controls

        lines = found.patch.diff().splitlines()
        write(sys.stdout, "".join(without_controls(line) + "\n" for line in lines))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(found.patch.diff_bytes())
        sys.stdout.buffer.flush()
