"""`fitdoctor run`: run a script as plain python would, and say why its training is slow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import Choice, judge, no_training
from fitdoctor.cli.output import checked_outputs, report_bytes, show, write_bytes
from fitdoctor.cli.record import Verbosity, record
from fitdoctor.cli.script_command import script_command
from fitdoctor.cli.target import check_target, misplaced_option
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script


@script_command("run", "Run a script and say why its training is slow.")
@shared.file_option(
    "-o",
    "--output",
    text="Also write the result to a .html, .json, .txt, .csv or .pftrace file.",
)
@shared.json_output
@shared.force
@shared.budget(shared.EXAMINED_TIME, envvar="FITDOCTOR_BUDGET")
@click.option(
    "--continue",
    "keep_running",
    is_flag=True,
    help="Let the script run to its end after the examination.",
)
@click.option("--no-probes", is_flag=True, help="Only record; no experiments.")
@click.option(
    "--no-trials",
    is_flag=True,
    help="Never start the script again to try a setting that needs a fresh process.",
)
@click.option(
    "--try-backend",
    "backends",
    type=click.Choice(("tensorflow", "jax", "torch")),
    multiple=True,
    help="Also run the script for a few seconds on another Keras backend.",
)
@click.option("--live", is_flag=True, help="Show step time and its parts while training runs.")
@shared.quiet
@shared.verbose
@shared.rule_options
@shared.no_source
@shared.output_dir
@shared.color
def command(
    *,
    script: Script,
    output: Path | None,
    json_output: Path | None,
    force: bool,
    budget: float,
    keep_running: bool,
    no_probes: bool,
    no_trials: bool,
    backends: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    no_source: bool,
    output_dir: Path | None,
    **verbosity: Any,
) -> None:
    """Run SCRIPT with its own ARGS and say why its training is slow.

    Arguments after SCRIPT belong to the script, except for fitdoctor options that it does not
    know. The script keeps its stdout, stdin and exit code. The result goes to stderr.
    """
    from fitdoctor.cli import show_error
    from fitdoctor.launch.launcher import end_like
    from fitdoctor.launch.ranks import own_rank

    check_target(script)
    choice = Choice(select, ignore, no_source)
    if select or ignore:
        choice.rules()  # a code that is not known is refused before the run
    outputs = checked_outputs(output, json_output, force=force)
    rank = own_rank()
    if rank is not None:
        # A probe on one rank would leave the others waiting, and so would its end.
        keep_running = no_probes = True
        verbosity["quiet"] = verbosity["quiet"] or rank.number > 0
    options = RunOptions(budget_s=budget, keep_running=keep_running, probes=not no_probes)
    shown = Verbosity(**verbosity)
    if rank is not None:
        shown.say(
            f"rank {rank.number} of {rank.world}: each process is recorded to its end, without "
            "probes; fitdoctor report --ranks compares them"
        )
    trials = None if no_trials or no_probes or keep_running else backends
    recording, outcome = record(
        script, options, shown, trials=trials, try_cures=True, folder=output_dir
    )
    try:
        _report(recording, script, choice, outputs, shown)
    except Exception as error:  # noqa: BLE001 - shown, and the script's own failure still counts
        failure = show_error(error)
        if outcome.code == 0 or outcome.overstayed:
            sys.exit(failure)
    end_like(outcome)


def _report(
    recording: Path,
    script: Script,
    choice: Choice,
    outputs: list[tuple[Path, str]],
    verbosity: Verbosity,
) -> None:
    judged = judge(recording, choice)
    for path, suffix in outputs:
        write_bytes(path, report_bytes(suffix, judged))
    if not judged.diagnosis.workloads:
        raise no_training(judged.diagnosis)
    if not verbosity.quiet:
        show(judged.diagnosis, sys.stderr, color=verbosity.color, verbose=verbosity.verbose)
    for path, _ in outputs:
        verbosity.say(f"wrote {path}")
    if misplaced := misplaced_option(script.argv):
        verbosity.say(f"{misplaced} was passed to your script; put fitdoctor's options before it")
