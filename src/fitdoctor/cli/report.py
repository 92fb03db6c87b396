"""`fitdoctor report`: look at a recording again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli.output import (
    COLORS,
    Color,
    check_format,
    check_writable,
    say,
    show,
    write,
    write_file,
)
from fitdoctor.errors import RecordingError

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import Diagnosis


@click.command("report", short_help="Show the newest recording, or a given one, again.")
@click.argument("recording", required=False, metavar="[REC]", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to a .json or .txt file instead.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout.")
@click.option("--force", is_flag=True, help="Overwrite an output file that exists.")
@click.option("-v", "--verbose", is_flag=True, help="Also show the evidence and the machine.")
@click.option("--color", type=click.Choice(COLORS), default="auto", show_default=True)
def command(
    *,
    recording: Path | None,
    output: Path | None,
    as_json: bool,
    force: bool,
    verbose: bool,
    color: Color,
) -> None:
    """Show the newest recording of this folder, or REC, again."""
    if output is not None:
        check_format(output)
        check_writable(output, force=force)
    diagnosis = _diagnosis(recording)
    if output is not None:
        write_file(output, diagnosis, as_json=output.suffix.lower() == ".json")
        say(f"wrote {output}")
    if as_json:
        from fitdoctor.report.machine import to_text

        write(sys.stdout, to_text(diagnosis))
    if not diagnosis.workloads:
        raise no_training(diagnosis)
    if not as_json and output is None:
        show(diagnosis, sys.stdout, color=color, verbose=verbose)


def existing(recording: Path | None) -> Path:
    """The recording that was asked for, or the newest one.

    Raises:
        RecordingError: There is none.
    """
    from fitdoctor.recorder.files import newest

    path = recording if recording is not None else newest()
    if not path.is_file():
        raise RecordingError(
            f"there is no recording {path}",
            expected="a .rec file that `fitdoctor run` wrote",
            advice="fitdoctor report, without a name, shows the newest one",
        )
    return path


def _diagnosis(recording: Path | None) -> Diagnosis:
    path = existing(recording)
    from fitdoctor.diagnosis import diagnose
    from fitdoctor.recording.reader import read_recording

    diagnosis: Diagnosis = diagnose(read_recording(path))
    return diagnosis


def no_training(diagnosis: Diagnosis) -> RecordingError:
    """What to say about a script in which nothing was trained."""
    return RecordingError(
        f"no Keras training was seen in {diagnosis.script}",
        expected="fit, evaluate, predict or train_on_batch of a Keras model, or a loop over "
        "a tf.data dataset or a torch DataLoader",
        advice="run the script that trains; one that another process starts is not seen",
    )
