"""`fitdoctor boost`: run a script to its end with the safe cures applied, its source untouched."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import say
from fitdoctor.cli.script_command import ScriptCommand

if TYPE_CHECKING:
    from fitdoctor.cures.patch import Patch
    from fitdoctor.launch.launcher import Outcome
    from fitdoctor.proof.cured import Examined
    from fitdoctor.proof.side import Side

# From this much longer a boosted step counts as slower than the examined one: two runs of one
# script differ by a few percent.
SLOWER = 1.10


@dataclass(frozen=True)
class Choices:
    """What the command was asked for."""

    budget: float
    unsafe: bool
    no_trial: bool
    quiet: bool

    def say(self, text: object) -> None:
        """Write a line unless told to be quiet."""
        if not self.quiet:
            say(str(text))


@click.command(
    "boost",
    cls=ScriptCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Run a script with the safe cures applied, its source untouched.",
)
@shared.module
@shared.budget(shared.EXAMINED_TIME)
@shared.unsafe
@click.option("--no-trial", is_flag=True, help="Apply without trying first whether it helps.")
@shared.quiet
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(*, script: str, args: tuple[str, ...], module: bool, **choices: Any) -> None:
    """Run SCRIPT with its own ARGS to its end, faster where fitdoctor can make it so.

    First the script is examined, and the cures are tried, in short runs whose output is not
    shown; then it runs once as itself, with the cures in its source text as python sees it, or,
    where the source cannot take one, in the calls that it makes. No file is changed. The exit
    code is the script's.
    """
    from fitdoctor.cli.target import check_module, check_script
    from fitdoctor.launch.launcher import end_like
    from fitdoctor.proof.side import Side

    (check_module if module else check_script)(script)
    target = Side("examined", script, args, module)
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        outcome = _boost(target, Path(folder), Choices(**choices))
    end_like(outcome)


def _boost(target: Side, folder: Path, choices: Choices) -> Outcome:
    from fitdoctor.contract.errors import FitdoctorError
    from fitdoctor.proof.cured import ExaminationFailed, examine

    choices.say(f"examining {target.target} before it runs")
    try:
        examined = examine(target, folder, budget_s=choices.budget)
    except ExaminationFailed as error:
        choices.say(f"{error.message}; running it as it is")
        return _run(target, folder, None, choices)
    try:
        patch = _patch(examined, folder, choices)
    except FitdoctorError as error:
        choices.say(f"{error.message}; running it as it is")
        return _run(target, folder, None, choices)
    return _run(target, folder, (examined, patch) if patch else None, choices)


def _patch(examined: Examined, folder: Path, choices: Choices) -> Patch:
    """The cures to apply, said line by line."""
    from fitdoctor.proof.cured import applied_lines, line_of, patch_of
    from fitdoctor.proof.trial import kept_cures

    patch = patch_of(examined, examined.findings, unsafe=choices.unsafe, in_process=True)
    for declined in patch.declined:
        choices.say(f"not applied: {line_of(declined.finding)} ({declined.reason})")
    if patch and not choices.no_trial:
        choices.say("trying the cures in short runs")
        patch = kept_cures(
            examined, patch, folder, tell=lambda text: choices.say(text), unsafe=choices.unsafe
        )
    for line in applied_lines(patch):
        choices.say(f"applied: {line}")
    if not patch:
        choices.say("nothing to apply; running it as it is")
    return patch


def _run(
    target: Side, folder: Path, boosted: tuple[Examined, Patch] | None, choices: Choices
) -> Outcome:
    """The script's own run, with its terminal, streams and signals."""
    from fitdoctor.contract.options import RunOptions
    from fitdoctor.contract.records import Script
    from fitdoctor.launch import recording_files
    from fitdoctor.launch.launcher import launch
    from fitdoctor.launch.sampler import describe_machine
    from fitdoctor.proof.cured import cured_side
    from fitdoctor.proof.process import manifest

    options = RunOptions(probes=False, keep_running=True)
    side = target
    if boosted is not None:
        side = cured_side(target, boosted[1], "boosted")
        options = options.changed(sources=str(manifest(side, folder)), calls=side.calls)
    recording = recording_files.create_recording(target.target)
    script = Script(target.target, target.args, target.module)
    recording_files.begin(recording, script, options, describe_machine())
    outcome = launch(side.command(), recording=recording, options=options)
    if boosted is not None:
        _say_gain(boosted[0], recording, outcome, choices)
    return outcome


def _say_gain(examined: Examined, recording: Path, outcome: Outcome, choices: Choices) -> None:
    """What the boosted run took, beside what was examined."""
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.proof.measured import steady_step_ns
    from fitdoctor.units import duration, factor

    if outcome.code != 0:
        choices.say("the boosted script failed; its source is as it was: try it without boost")
        return
    before, after = examined.step_ns, steady_step_ns(read_recording(recording))
    if before is None or after is None:
        choices.say("too few steps to say what the cures gained")
        return
    times = f"{duration(before)} → {duration(after)} per step"
    if after > SLOWER * before:
        choices.say(f"the boosted training was slower than the examined one: {times}")
    else:
        choices.say(f"{times}, {factor(before / after)}× (prove --boost gives the interval)")
    sys.stderr.flush()
