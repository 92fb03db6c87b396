"""A recording and what is found in it, as the options ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitdoctor.contract.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from fitdoctor.contract.records import Recording
    from fitdoctor.findings.diagnosed import Diagnosis
    from fitdoctor.rules.rule import Rule


@dataclass(frozen=True)
class Choice:
    """Which rules count, and whether names may be shown."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    no_source: bool = False

    def has(self, code: str) -> bool:
        """Whether a rule counts; `ignore` wins over `select`."""
        return (not self.select or code.startswith(self.select)) and not (
            self.ignore and code.startswith(self.ignore)
        )

    def check(self, known: list[str]) -> None:
        """Refuse codes that no rule has.

        Raises:
            UsageError: A code or family is not known.
        """
        for code in (*self.select, *self.ignore):
            if not any(each.startswith(code) for each in known):
                raise UsageError(
                    f"there is no rule or family {code!r}",
                    expected=f"one of {', '.join(known)}, or the start of one",
                    advice="fitdoctor rule --all",
                )

    def rules(self) -> list[Rule]:
        """The rules that count.

        Raises:
            UsageError: A code or family is not known.
        """
        from fitdoctor.rules import all_rules

        self.check([rule.code for rule in all_rules()])
        return [rule for rule in all_rules() if self.has(rule.code)]


@dataclass(frozen=True)
class Judged:
    """What every output is made from."""

    diagnosis: Diagnosis
    recording: Recording


def recording_path(recording: Path | None, output_dir: Path | None = None) -> Path:
    """The named recording, or the newest one.

    Raises:
        RecordingError: There is none.
    """
    from fitdoctor.cli.config import recordings_folder
    from fitdoctor.launch.recording_files import newest

    path = recording or newest(folder=output_dir or recordings_folder())
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

    return judge_recording(read_recording(path), choice)


def judge_recording(recording: Recording, choice: Choice) -> Judged:
    """Diagnose what was read.

    Raises:
        UsageError: The choice names a rule that does not exist.
    """
    from fitdoctor.diagnosis import diagnose
    from fitdoctor.report.no_source import without_source

    diagnosis = diagnose(recording, rules=choice.rules())
    if choice.no_source:
        diagnosis, recording = without_source(diagnosis, recording)
    return Judged(diagnosis, recording)


def no_training(diagnosis: Diagnosis) -> RecordingError:
    """What to say about a script in which nothing was trained."""
    return RecordingError(
        f"no Keras training was seen in {diagnosis.script}",
        expected="fit, evaluate, predict or train_on_batch of a Keras model, or a loop over "
        "a tf.data dataset or a torch DataLoader",
        advice="run the script that trains; one that another process starts is not seen",
    )
