"""`fitdoctor report`: look at a recording again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import Choice, Judged, judge, recording_path
from fitdoctor.cli.output import (
    Color,
    check_format,
    check_writable,
    say,
    show,
    write,
    write_file,
)
from fitdoctor.contract.errors import RecordingError

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import Diagnosis
    from fitdoctor.report.proof_file import Proof


@click.command("report", short_help="Show the newest recording, or a given one, again.")
@click.argument("recording", required=False, metavar="[REC]", type=click.Path(path_type=Path))
@shared.file_option(
    "-o", "--output", text="Write to a .html, .json, .txt, .csv or .pftrace file instead."
)
@click.option(
    "--open", "open_page", is_flag=True, help="Write the page and open it in the web browser."
)
@shared.file_option(
    "--proof",
    text="Show this result of `fitdoctor prove` on the page, not the script's newest one.",
)
@click.option(
    "--tensorboard",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the steps as TensorBoard scalars into a folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout.")
@shared.force
@click.option("-v", "--verbose", is_flag=True, help="Also show the evidence and the machine.")
@shared.rule_options
@shared.no_source
@shared.output_dir
@shared.color
def command(
    *,
    recording: Path | None,
    output: Path | None,
    open_page: bool,
    proof: Path | None,
    tensorboard: Path | None,
    as_json: bool,
    force: bool,
    verbose: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    no_source: bool,
    output_dir: Path | None,
    color: Color,
) -> None:
    """Show the newest recording of this folder, or REC, again."""
    if output is not None:
        check_format(output)
        check_writable(output, force=force)
    if open_page and output is not None and output.suffix.lower() != ".html":
        raise click.UsageError("--open shows a page; give -o a name that ends in .html")
    path = recording_path(recording, output_dir)
    judged = judge(path, Choice(select, ignore, no_source))
    if open_page and output is None:
        output = path.with_suffix(".html")
    _write(judged, output, proof, tensorboard, path.parent)
    if as_json:
        from fitdoctor.report.machine import to_text

        write(sys.stdout, to_text(judged.diagnosis))
    if not judged.diagnosis.workloads:
        raise no_training(judged.diagnosis)
    if open_page and output is not None:
        _open(output)
    if not as_json and output is None and tensorboard is None:
        show(judged.diagnosis, sys.stdout, color=color, verbose=verbose)


def existing(recording: Path | None) -> Path:
    """The recording that was asked for, or the newest one.

    Raises:
        RecordingError: There is none.
    """
    from fitdoctor.cli.config import recordings_folder

    return recording_path(recording, recordings_folder())


def _write(
    judged: Judged,
    output: Path | None,
    proof: Path | None,
    tensorboard: Path | None,
    folder: Path,
) -> None:
    found: Proof | None = None
    if proof is not None:
        from fitdoctor.report.proof_file import read_proof

        if output is None or output.suffix.lower() != ".html":
            raise click.UsageError("--proof is shown on the page: add -o report.html or --open")
        found = read_proof(proof)
    elif output is not None and output.suffix.lower() == ".html":
        from fitdoctor.report.kept_proofs import kept_proof

        found = kept_proof(folder, judged.recording)
    if output is not None:
        write_file(output, judged.diagnosis, judged.recording, proof=found)
        say(f"wrote {output}")
    if tensorboard is not None:
        from fitdoctor.report.export.tensorboard_scalars import write_scalars

        count = write_scalars(judged.recording, tensorboard)
        say(f"wrote {count} run{'' if count == 1 else 's'} to {tensorboard}")


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        say(f"no web browser was found; open {page} in one")


def no_training(diagnosis: Diagnosis) -> RecordingError:
    """What to say about a script in which nothing was trained."""
    return RecordingError(
        f"no Keras training was seen in {diagnosis.script}",
        expected="fit, evaluate, predict or train_on_batch of a Keras model, or a loop over "
        "a tf.data dataset or a torch DataLoader",
        advice="run the script that trains; one that another process starts is not seen",
    )
