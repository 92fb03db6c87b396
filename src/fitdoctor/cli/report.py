"""`fitdoctor report`: look at a recording again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import Choice, Judged, judge, no_training, recording_path
from fitdoctor.cli.judging_ranks import judge_ranks
from fitdoctor.cli.output import (
    Color,
    checked_outputs,
    report_bytes,
    say,
    show,
    write,
    write_bytes,
)

if TYPE_CHECKING:
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
@click.option(
    "--ranks", is_flag=True, help="Compare the processes of the newest launch of several."
)
@shared.json_only
@shared.force
@shared.verbose
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
    ranks: bool,
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
    checked_outputs(output, force=force)
    if open_page and output is not None and output.suffix.lower() != ".html":
        raise click.UsageError("--open shows a page; give -o a name that ends in .html")
    choice = Choice(select, ignore, no_source)
    of_ranks = judge_ranks(recording or output_dir, choice) if ranks else None
    if of_ranks is not None:
        path, judged = of_ranks.path, of_ranks.judged
    else:
        path = recording_path(recording, output_dir)
        judged = judge(path, choice)
    if open_page and output is None:
        output = path.with_suffix(".html")
    suffix = output.suffix.lower() if output is not None else ""
    shown = _shown_proof(proof, suffix == ".html", path.parent, judged)
    if output is not None:
        write_bytes(output, report_bytes(suffix, judged, shown))
        say(f"wrote {output}")
    if tensorboard is not None:
        from fitdoctor.report.export.tensorboard_scalars import write_scalars

        count = write_scalars(judged.recording, tensorboard)
        say(f"wrote {count} run{'' if count == 1 else 's'} to {tensorboard}")
    if as_json:
        from fitdoctor.report.machine import to_text

        write(sys.stdout, of_ranks.to_text() if of_ranks else to_text(judged.diagnosis))
    if not judged.diagnosis.workloads:
        raise no_training(judged.diagnosis)
    if open_page and output is not None:
        _open(output)
    if not as_json and output is None and tensorboard is None:
        if of_ranks is not None:
            write(sys.stdout, of_ranks.table())
        show(judged.diagnosis, sys.stdout, color=color, verbose=verbose)


def _shown_proof(given: Path | None, page: bool, folder: Path, judged: Judged) -> Proof | None:
    """The proof for the page: the one given, or the newest one of the script."""
    from fitdoctor.report.kept_proofs import kept_proof
    from fitdoctor.report.proof_file import read_proof

    if given is None:
        return kept_proof(folder, judged.recording) if page else None
    if not page:
        raise click.UsageError("--proof is shown on the page: add -o report.html or --open")
    return read_proof(given)


def _open(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        say(f"no web browser was found; open {page} in one")
