"""`fitdoctor boost`: run a script to its end with the safe cures applied, its source untouched."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import Say, sayer
from fitdoctor.cli.script_command import script_command
from fitdoctor.cli.target import check_target
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script

if TYPE_CHECKING:
    from fitdoctor.cures.patch import Patch
    from fitdoctor.launch.launcher import Outcome
    from fitdoctor.proof.cured import Examined
    from fitdoctor.proof.side import Side

# From this much longer a boosted step counts as slower than the examined one: two runs of one
# script differ by a few percent.
SLOWER = 1.10


@script_command("boost", "Run a script with the safe cures applied, its source untouched.")
@shared.budget(shared.EXAMINED_TIME)
@shared.unsafe
@click.option("--no-trial", is_flag=True, help="Apply cures without trying them first.")
@shared.quiet
def command(*, script: Script, budget: float, unsafe: bool, no_trial: bool, quiet: bool) -> None:
    """Run SCRIPT with its own ARGS to its end, with the cures that keep its training the same.

    First the script is examined and the cures are tried, in short runs with hidden output. Then it
    runs once with the cures. Python gets the changed source text, or, if the source cannot take a
    cure, the call itself is changed. No file changes. The exit code is the script's.
    """
    from fitdoctor.launch.launcher import end_like
    from fitdoctor.proof.cured import cured_side, examine
    from fitdoctor.proof.side import Side

    check_target(script)
    tell = sayer(quiet=quiet)
    side = Side("examined", script.path, script.argv, script.module)
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as name:
        folder = Path(name)
        tell(f"examining {script.path} before it runs")
        try:
            examined = examine(side, folder, budget_s=budget)
            patch = _patch(examined, folder, tell, unsafe=unsafe, trial=not no_trial)
        except FitdoctorError as error:
            tell(f"{error.message}; running it as it is")
            patch = None
        if patch:
            side = cured_side(side, patch, "boosted")
        recording, outcome = _run(side, script, folder)
        if patch:
            _say_gain(examined.step_ns, recording, outcome, tell)
    end_like(outcome)


def _patch(examined: Examined, folder: Path, tell: Say, *, unsafe: bool, trial: bool) -> Patch:
    """The cures to apply, said line by line."""
    from fitdoctor.proof.cured import applied_lines, line_of, patch_of
    from fitdoctor.proof.trial import kept_cures

    patch = patch_of(examined, examined.findings, unsafe=unsafe, in_process=True)
    for declined in patch.declined:
        tell(f"not applied: {line_of(declined.finding)} ({declined.reason})")
    if patch and trial:
        tell("trying the cures in short runs")
        patch = kept_cures(
            examined, patch, folder, tell=lambda text: tell(str(text)), unsafe=unsafe
        )
    for line in applied_lines(patch):
        tell(f"applied: {line}")
    if not patch:
        tell("nothing to apply; running it as it is")
    return patch


def _run(side: Side, script: Script, folder: Path) -> tuple[Path, Outcome]:
    """The script's own run, with its terminal, streams and signals."""
    from fitdoctor.launch import recording_files
    from fitdoctor.launch.launcher import launch
    from fitdoctor.launch.sampler import describe_machine
    from fitdoctor.proof.process import manifest

    options = RunOptions(probes=False, keep_running=True, calls=side.calls)
    if side.sources is not None:
        options = options.changed(sources=str(manifest(side, folder)))
    recording = recording_files.create_recording(script.path)
    recording_files.begin(recording, script, options, describe_machine())
    return recording, launch(side.command(), recording=recording, options=options)


def _say_gain(before: float | None, recording: Path, outcome: Outcome, tell: Say) -> None:
    """What the boosted run took, beside what was examined."""
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.proof.measured import steady_step_ns
    from fitdoctor.units import duration, factor

    if outcome.code != 0:
        tell("the boosted script failed; its source is as it was: try it without boost")
        return
    after = steady_step_ns(read_recording(recording))
    if before is None or after is None:
        tell("too few steps to say what the cures gained")
        return
    times = f"{duration(before)} → {duration(after)} per step"
    if after > SLOWER * before:
        tell(f"the boosted training was slower than the examined one: {times}")
    else:
        tell(f"{times}, {factor(before / after)}× (prove --boost gives the interval)")
    sys.stderr.flush()
