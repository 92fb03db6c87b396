"""`fitdoctor run`: run a script as plain python would, and say why its training is slow."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import Choice
from fitdoctor.cli.output import check_format, check_writable, show, write_file
from fitdoctor.cli.record import Verbosity, record
from fitdoctor.cli.script_command import ScriptCommand
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Script

NO_TRAINING = 2


@dataclass(frozen=True)
class Target:
    """What is run, and where its recording goes."""

    script: Script
    folder: Path | None


@dataclass(frozen=True)
class Output:
    """One file that the result goes to."""

    path: Path
    suffix: str


@dataclass(frozen=True)
class Reporting:
    """What is made of the recording: which rules, which files."""

    outputs: list[Output]
    choice: Choice


@click.command(
    "run",
    cls=ScriptCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Run a script and say why its training is slow.",
)
@shared.module
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
@click.option("--no-probes", is_flag=True, help="Only record; no experiments with the model.")
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
@click.option("-v", "--verbose", is_flag=True, help="Also show the evidence and the machine.")
@shared.rule_options
@shared.no_source
@shared.output_dir
@shared.color
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    script: str,
    args: tuple[str, ...],
    module: bool,
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
    know. Its stdout, stdin and exit code stay its own; the result is shown on stderr.
    """
    from fitdoctor.cli.target import check_module, check_script

    (check_module if module else check_script)(script)
    choice = Choice(select, ignore, no_source)
    if select or ignore:
        from fitdoctor.cli.judging import chosen_rules

        chosen_rules(choice)
    reporting = Reporting(_checked_outputs(output, json_output, force=force), choice)
    options = RunOptions(budget_s=budget, keep_running=keep_running, probes=not no_probes)
    target = Target(Script(script, args, module), output_dir)
    trials = None if no_trials or no_probes or keep_running else backends
    _run(target, options, reporting, Verbosity(**verbosity), trials)


def _checked_outputs(output: Path | None, json_output: Path | None, *, force: bool) -> list[Output]:
    outputs = []
    if output is not None:
        check_format(output)
        outputs.append(Output(output, output.suffix.lower()))
    if json_output is not None:
        outputs.append(Output(json_output, ".json"))
    for each in outputs:
        check_writable(each.path, force=force)
    return outputs


def _run(
    target: Target,
    options: RunOptions,
    reporting: Reporting,
    verbosity: Verbosity,
    trials: tuple[str, ...] | None,
) -> None:
    from fitdoctor.launch.launcher import end_like

    recording, outcome = record(
        target.script, options, verbosity, trials=trials, folder=target.folder
    )
    failure = _report_safely(recording, target, reporting, verbosity)
    if failure and (outcome.code == 0 or outcome.overstayed):
        sys.exit(failure)
    end_like(outcome)


def _report_safely(
    recording: Path, target: Target, reporting: Reporting, verbosity: Verbosity
) -> int:
    """Report, and return an exit code of ours: the script's own failure must not be lost."""
    from fitdoctor.cli import show_error

    try:
        return _report(recording, target, reporting, verbosity)
    except Exception as error:  # noqa: BLE001 - shown, and the script's end still counts
        return show_error(error)


def _report(recording: Path, target: Target, reporting: Reporting, verbosity: Verbosity) -> int:
    from fitdoctor.cli.judging import judge
    from fitdoctor.cli.target import misplaced_option

    judged = judge(recording, reporting.choice)
    diagnosis = judged.diagnosis
    for output in reporting.outputs:
        write_file(output.path, diagnosis, judged.recording, suffix=output.suffix)
    if not diagnosis.workloads:
        from fitdoctor.cli import show_error
        from fitdoctor.cli.report import no_training

        show_error(no_training(diagnosis))
        return NO_TRAINING
    if not verbosity.quiet:
        show(diagnosis, sys.stderr, color=verbosity.color, verbose=verbosity.verbose)
    for output in reporting.outputs:
        verbosity.say(f"wrote {output.path}")
    if misplaced := misplaced_option(target.script.argv):
        verbosity.say(f"{misplaced} was passed to your script; put fitdoctor's options before it")
    return 0
