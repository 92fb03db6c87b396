"""`fitdoctor prove`: before against after, interleaved, with an interval; same learning or not."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.judging import recording_path
from fitdoctor.cli.output import check_writable, sayer, write, write_json
from fitdoctor.cli.script_command import script_command
from fitdoctor.cli.target import check_target
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import Script

if TYPE_CHECKING:
    from fitdoctor.proof.measured import Limits, Progress
    from fitdoctor.proof.proof_verdict import Proof
    from fitdoctor.proof.proving import Tell

NOT_PROVEN = 1


def progress_line(progress: Progress | str) -> str:
    """How far a proof is."""
    from fitdoctor.units import duration, gain

    if isinstance(progress, str):
        return progress
    if progress.pair is not None:
        before, after = map(duration, progress.pair)
        now = "no interval yet" if progress.ratio is None else f"so far {gain(progress.ratio)}"
        return f"pair done: {before} → {after} per compared step · {now}"
    disturbed = " · disturbed by other processes, will be repeated" if progress.disturbed else ""
    steps = f"{progress.steps} steps in {duration(progress.taken_ns)}, warm-up included"
    return f"run {progress.runs}: {progress.side}, {steps}{disturbed}"


@script_command("prove", "Prove that a change makes training faster, and that it trains the same.")
@shared.file_option("-o", "--output", "--json", "output", text=shared.JSON_TEXT)
@shared.force
@shared.number(
    "--precision",
    default=5.0,
    most=1000,
    metavar="PERCENT",
    help="Stop when the interval is this narrow.",
)
@shared.budget("Time for all timed runs.", default=180)
@click.option(
    "--max-runs",
    type=click.IntRange(min=6),
    default=20,
    show_default=True,
    help="Timed runs of both sides together.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    metavar="N",
    help="Steps to compare; default: as many as fit into the window.",
)
@shared.number(
    "--window", default=10, most=86400, metavar="SECONDS", help="Training time of one run."
)
@shared.recording("Use this recording of SCRIPT instead of examining it again.")
@shared.unsafe
@shared.pack
@click.option("--each", is_flag=True, help="Also prove every cure alone; drop what does not help.")
@click.option("--boost", is_flag=True, help="Prove what boost would run, against plain.")
@click.option(
    "--one", is_flag=True, help="Only one SCRIPT, even if its first argument is a script."
)
@click.option("--may-differ", is_flag=True, help="A change that learns differently may be proven.")
@click.option("--no-check", is_flag=True, help="Do not compare data and learning.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing except the result.")
# Over 50 lines only by its options.
def command(
    *,
    script: Script,
    output: Path | None,
    force: bool,
    one: bool,
    precision: float,
    budget: float,
    max_runs: int,
    steps: int | None,
    window: float,
    may_differ: bool,
    no_check: bool,
    quiet: bool,
    **cures: Any,
) -> None:
    """Prove that SCRIPT trains faster with its cures, or that a second script does.

    With one SCRIPT, the script is compared with and without its cures; the file is not touched.
    With two (prove slow.py fast.py ARGS...) the first is compared with the second. Both run in
    fresh processes, in turns, from this folder, and are ended after the compared steps.

    Exit code 0: proven; 1: not proven, slower or invalid; 2: wrong use.
    """
    from fitdoctor.proof.measured import Limits
    from fitdoctor.report.proof import render_proof

    check_target(script)
    if output is not None:
        check_writable(output, force=force)
    say = sayer(quiet=quiet)

    def tell(progress: Progress | str) -> None:
        say(progress_line(progress))

    limits = Limits(precision / 100, budget, max_runs, steps, window)
    how = {"may_differ": may_differ, "check": not no_check}
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        if not one and _names_second_script(script):
            check_target(Script(script.argv[0]))
            _refuse_cure_options(cures)
            proof = _prove_pair(script, Path(folder), limits, tell, how)
        else:
            how["may_differ"] |= cures["unsafe"]
            proof = _prove_cures(script, Path(folder), limits, tell, {**cures, **how})
    if output is not None:
        write_json(output, proof.to_json())
    write(sys.stdout, render_proof(proof))
    if output is not None:
        say(f"wrote {output}")
    sys.exit(0 if proof.verdict == "proven" else NOT_PROVEN)


def _names_second_script(script: Script) -> bool:
    second = script.argv[0] if script.argv and not script.module else ""
    return second.endswith(".py") and not second.startswith("-")


def _refuse_cure_options(cures: dict[str, Any]) -> None:
    given = [name for name, value in cures.items() if value]
    if given:
        name = "from" if given[0] == "recording" else given[0]
        raise UsageError(
            f"--{name} is about the cures of one script; two scripts were given",
            expected="one script, or two without this option",
            advice="--may-differ, if the second may train differently",
        )


def _prove_pair(
    script: Script, folder: Path, limits: Limits, tell: Tell, how: dict[str, Any]
) -> Proof:
    from fitdoctor.proof.proving import Prover
    from fitdoctor.proof.side import Side

    second, *args = script.argv
    before, after = (Side("A", script.path, tuple(args)), Side("B", second, tuple(args)))
    return Prover(folder, limits, tell).prove(before, after, **how)


def _prove_cures(
    script: Script, folder: Path, limits: Limits, tell: Tell, cures: dict[str, Any]
) -> Proof:
    """Prove the cures, and keep the proof where the report of the script finds it."""
    from fitdoctor.cli.config import recordings_folder
    from fitdoctor.launch.recording_files import FOLDER_NAME
    from fitdoctor.proof.cures_proof import prove_cures
    from fitdoctor.proof.side import Side
    from fitdoctor.report.kept_proofs import keep

    recording = cures.pop("recording")
    proof = prove_cures(
        Side("examined", script.path, script.argv, script.module),
        folder,
        limits=limits,
        tell=tell,
        recording=None if recording is None else recording_path(recording),
        trial=cures.pop("boost"),
        **cures,
    ).proof
    if not script.module:
        keep(recordings_folder() or Path.cwd() / FOLDER_NAME, script.path, proof.to_json())
    return proof
