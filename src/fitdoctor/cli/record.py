"""Run a script under the recorder, and see it through to its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitdoctor.cli.output import Color, say

if TYPE_CHECKING:
    from fitdoctor.launch.launcher import Outcome


@dataclass(frozen=True)
class Talk:
    """How much to say, and in which colours."""

    quiet: bool
    verbose: bool
    color: Color
    live: bool = False

    def say(self, text: str) -> None:
        """Write a line unless told to be quiet."""
        if not self.quiet:
            say(text)


def record(
    script: str,
    args: list[str],
    module: bool,
    *,
    options: dict[str, Any],
    talk: Talk,
    stdout: int | None = None,
    trials: tuple[str, ...] | None = (),
    folder: Path | None = None,
) -> tuple[Path, Outcome]:
    """Run a script under the recorder: the recording, and how the script ended."""
    from fitdoctor.launch import recording_files
    from fitdoctor.launch.launcher import command_line
    from fitdoctor.launch.sampler import machine_record

    recording = recording_files.create_recording(script, folder=folder)
    header = recording_files.header_record(script=script, argv=args, module=module, options=options)
    recording_files.begin(recording, header, machine_record())
    talk.say(f"recording {script} → {_short(recording)}")
    command = command_line(script, args, module=module)
    outcome = _record(command, recording, options, talk, stdout)
    if trials is not None and outcome.code == 0:
        _try_settings(command, recording, trials, talk)
    return recording, outcome


def _try_settings(
    command: list[str], recording: Path, backends: tuple[str, ...], talk: Talk
) -> None:
    """What only a fresh process can try, where the recording gives a reason to."""
    from fitdoctor.contract.errors import FitdoctorError
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.trials.fresh_process import run_trial
    from fitdoctor.trials.suspicion import suspected

    try:
        seen = read_recording(recording)
        for trial in suspected(seen, backends):
            run_trial(recording, seen, command, trial, talk.say)
    except FitdoctorError as error:  # the report that follows says what is wrong with it
        talk.say(f"no settings were tried: {error.message}")


def _record(
    command: list[str],
    recording: Path,
    options: dict[str, Any],
    talk: Talk,
    stdout: int | None,
) -> Outcome:
    from fitdoctor.cli.live import Live
    from fitdoctor.cli.progress import Progress
    from fitdoctor.launch.launcher import HANG_GRACE_S, OVERSTAY_GRACE_S, launch
    from fitdoctor.launch.sampler import Sampler

    progress = Progress(recording)
    live = Live(recording)
    samplers: list[Sampler] = []

    def watch(pid: int) -> None:
        samplers.append(Sampler(pid, recording))
        samplers[0].start()
        if not talk.quiet:
            progress.start()
        if talk.live and not talk.quiet:
            live.start()

    try:
        outcome = launch(
            command, recording=recording, options=options, on_start=watch, stdout=stdout
        )
    finally:
        for sampler in samplers:
            sampler.stop()
        live.stop()
        progress.stop()
    _finish_recording(recording, outcome)
    if outcome.hung:
        talk.say(
            f"the script had ended, but its process hung for {HANG_GRACE_S:.0f} s and was "
            "terminated"
        )
    if outcome.overstayed:
        talk.say(
            f"the script went on {OVERSTAY_GRACE_S:.0f} s after it was examined and asked "
            "to end; it was terminated"
        )
    return outcome


def _finish_recording(recording: Path, outcome: Outcome) -> None:
    from fitdoctor.launch.recording_files import append_exit
    from fitdoctor.launch.source_digests import append_sources

    try:
        append_sources(recording)
        append_exit(
            recording, code=outcome.code, signal=outcome.signal, overstayed=outcome.overstayed
        )
    except OSError as error:  # the disk is full, or the script deleted the folder
        say(f"the recording could not be finished: {error.strerror}")


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
