"""Run a script under the recorder, and see it through to its end."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitdoctor.cli.following import Follower, Progress
from fitdoctor.cli.live import Live
from fitdoctor.cli.output import Color, say
from fitdoctor.contract.errors import FitdoctorError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script
from fitdoctor.launch.launcher import (
    HANG_GRACE_S,
    OVERSTAY_GRACE_S,
    Outcome,
    command_line,
    launch,
)
from fitdoctor.launch.ranks import own_rank
from fitdoctor.launch.recording_files import KEPT_RECORDINGS, append_exit, begin, create_recording
from fitdoctor.launch.source_digests import append_sources

if TYPE_CHECKING:
    from fitdoctor.launch.sampler import Sampler


@dataclass(frozen=True)
class Verbosity:
    """How much to print, and in which colours."""

    quiet: bool
    verbose: bool
    color: Color
    live: bool = False

    def say(self, text: str) -> None:
        """Write a line unless told to be quiet."""
        if not self.quiet:
            say(text)


def record(
    script: Script,
    options: RunOptions,
    verbosity: Verbosity,
    *,
    stdout: int | None = None,
    trials: tuple[str, ...] | None = (),
    try_cures: bool = False,
    folder: Path | None = None,
) -> tuple[Path, Outcome]:
    """Run a script under the recorder: the recording, and how the script ended.

    Args:
        script: what to run.
        options: of the recorder.
        verbosity: how much to say.
        stdout: where the script's own output goes.
        trials: other backends to try in fresh processes, besides the settings that the recording
            gives a reason for; None: the script is never started again.
        try_cures: also run the changed source for the first findings.
        folder: for the recording.
    """
    from fitdoctor.launch.sampler import describe_machine

    rank = own_rank()
    keep = KEPT_RECORDINGS if rank is None else max(KEPT_RECORDINGS, 2 * rank.world)
    recording = create_recording(script.path, folder=folder, keep=keep)
    launched = None if rank is None else rank.header()
    begin(recording, script, options, describe_machine(), launched)
    cwd = Path.cwd()
    short = recording.relative_to(cwd) if recording.is_relative_to(cwd) else recording
    verbosity.say(f"recording {script.path} → {short}")
    command = command_line(script.path, script.argv, module=script.module)
    outcome = _record(command, recording, options, verbosity, stdout)
    if trials is not None and outcome.code == 0:
        _try_settings(command, recording, trials, verbosity)
        if try_cures:
            _try_cures(script, recording, options.budget_s, verbosity)
    return recording, outcome


def _try_settings(
    command: list[str], recording: Path, backends: tuple[str, ...], verbosity: Verbosity
) -> None:
    """What only a fresh process can try, where the recording gives a reason to."""
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.trials.fresh_process import run_trial
    from fitdoctor.trials.suspicion import suspected
    from fitdoctor.trials.warm_start import try_warm_start

    try:
        seen = read_recording(recording)
        for trial in suspected(seen, backends):
            run_trial(recording, seen, command, trial, verbosity.say)
        try_warm_start(recording, seen, command, verbosity.say)
    except FitdoctorError as error:  # the report that follows says what is wrong with it
        verbosity.say(f"no settings were tried: {error.message}")


def _try_cures(script: Script, recording: Path, budget_s: float, verbosity: Verbosity) -> None:
    """The changed source for the first findings, as long as the budget lasts."""
    from fitdoctor.trials.cured_text import try_cures

    try:
        try_cures(recording, script, budget_s, verbosity.say)
    except FitdoctorError as error:  # the report that follows says what is wrong with it
        verbosity.say(f"no cure was tried: {error.message}")


def _record(
    command: list[str],
    recording: Path,
    options: RunOptions,
    verbosity: Verbosity,
    stdout: int | None,
) -> Outcome:
    from fitdoctor.launch.sampler import Sampler

    watching: list[Sampler | Follower] = []

    def watch(pid: int) -> None:
        watching.append(Sampler(pid, recording))
        if not verbosity.quiet and sys.stderr is not None:
            # A panel gives its room back before the last progress line is written.
            followers = (Live, Progress) if verbosity.live else (Progress,)
            watching.extend(follower(recording) for follower in followers)
        for thread in watching:
            thread.start()

    try:
        outcome = launch(
            command, recording=recording, options=options, on_start=watch, stdout=stdout
        )
    finally:
        for thread in watching:
            thread.stop()
    try:
        append_sources(recording)
        append_exit(recording, outcome.code, outcome.signal, overstayed=outcome.overstayed)
    except OSError as error:  # the disk is full, or the script deleted the folder
        say(f"the recording could not be finished: {error.strerror}")
    if outcome.hung:
        verbosity.say(
            f"the script had ended, but its process hung for {HANG_GRACE_S:.0f} s and was "
            "terminated"
        )
    if outcome.overstayed:
        verbosity.say(
            f"the script kept running for {OVERSTAY_GRACE_S:.0f} s after it was examined and "
            "asked to end; it was terminated"
        )
    return outcome
