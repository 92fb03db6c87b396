"""A recording and what is found in it, as the options ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import Diagnosis


@dataclass(frozen=True)
class Choice:
    """Which rules count, and whether names may be shown."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    no_source: bool = False


@dataclass(frozen=True)
class Judged:
    """What every output is made from."""

    diagnosis: Diagnosis
    recording: Any


def recording_path(recording: Path | None, output_dir: Path | None) -> Path:
    """The named recording, or the newest one.

    Raises:
        RecordingError: There is none.
    """
    from fitdoctor.launch.recording_files import newest

    path = recording if recording is not None else newest(folder=output_dir)
    if not path.is_file():
        raise RecordingError(
            f"there is no recording {path}",
            expected="a .rec file that `fitdoctor run` wrote",
            advice="fitdoctor report, without a name, shows the newest one",
        )
    return path


def judge(path: Path, choice: Choice) -> Judged:
    """Read a recording and diagnose it.

    Raises:
        RecordingError: It cannot be read.
        UsageError: The choice names a rule that does not exist.
    """
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.diagnosis import diagnose

    recording = read_recording(path)
    if choice.select or choice.ignore:
        diagnosis = diagnose(recording, rules=chosen_rules(choice))
    else:
        diagnosis = diagnose(recording)
    if choice.no_source:
        from fitdoctor.report.no_source import without_source

        diagnosis, recording = without_source(diagnosis, recording)
    return Judged(diagnosis, recording)


def chosen_rules(choice: Choice) -> list[Any]:
    """The rules that the choice leaves.

    Raises:
        UsageError: It names a rule that does not exist.
    """
    from fitdoctor.rules import all_rules

    rules = list(all_rules())
    check_codes(choice, [rule.code for rule in rules])
    return [rule for rule in rules if is_chosen(rule.code, choice)]


def is_chosen(code: str, choice: Choice) -> bool:
    """Whether a rule counts; `ignore` wins over `select`."""
    selected = not choice.select or code.startswith(choice.select)
    return selected and not (choice.ignore and code.startswith(choice.ignore))


def check_codes(choice: Choice, known: list[str]) -> None:
    """Refuse codes that no rule has.

    Raises:
        UsageError: A code or family is not known.
    """
    for code in (*choice.select, *choice.ignore):
        if not any(each.startswith(code) for each in known):
            raise UsageError(
                f"there is no rule or family {code!r}",
                expected=f"one of {', '.join(known)}, or the start of one",
                advice="fitdoctor rule --all",
            )
