"""`fitdoctor prove`: before against after, interleaved, with an interval; same learning or not."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import check_writable, say, write, write_text
from fitdoctor.cli.script_command import ScriptCommand
from fitdoctor.contract.errors import UsageError

if TYPE_CHECKING:
    from fitdoctor.proof.measured import Limits, Progress
    from fitdoctor.proof.proof_verdict import Proof

NOT_PROVEN = 1


@dataclass(frozen=True)
class Options:
    """What the command was asked for."""

    limits: Limits
    unsafe: bool
    each: bool
    boost: bool
    may_differ: bool
    no_check: bool
    quiet: bool
    recording: Path | None = None
    pack: str | None = None

    def say(self, text: str) -> None:
        """Write a line unless told to be quiet."""
        if not self.quiet:
            say(text)

    def tell(self, progress: Progress | str) -> None:
        """Write how far the proof is."""
        self.say(progress if isinstance(progress, str) else _progress_line(progress))


def _progress_line(progress: Progress) -> str:
    from fitdoctor.units import duration, gain

    now = "" if progress.ratio is None else f" · so far {gain(progress.ratio)}"
    if progress.step_ns is None:
        return f"pair {progress.runs // 2} done{now or ' · no interval from so few pairs yet'}"
    disturbed = " · disturbed by other processes, will be repeated" if progress.disturbed else ""
    return f"run {progress.runs}: {progress.side} {duration(progress.step_ns)} per step{disturbed}"


@click.command(
    "prove",
    cls=ScriptCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Prove that a change makes training faster, and that it trains the same.",
)
@shared.file_option("-o", "--output", "--json", "output", text=shared.JSON_TEXT)
@shared.force
@shared.number(
    "--precision",
    default=5.0,
    most=1000,
    metavar="PERCENT",
    help="Stop when the interval reaches no farther than this.",
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
    help="Steps to compare; without it, as many as fit into the window.",
)
@shared.number(
    "--window", default=10, most=86400, metavar="SECONDS", help="Training time of one run."
)
@shared.recording("Use this recording of SCRIPT instead of examining it again.")
@shared.unsafe
@shared.pack
@click.option(
    "--each", is_flag=True, help="Also prove every cure by itself; drop what does not help."
)
@click.option("--boost", is_flag=True, help="Prove what boost would run, against plain.")
@click.option("--one", is_flag=True, help="SCRIPT alone, even if its first argument is a script.")
@shared.module
@click.option("--may-differ", is_flag=True, help="A change that learns differently may be proven.")
@click.option("--no-check", is_flag=True, help="Do not compare data and learning.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing except the result.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    script: str,
    args: tuple[str, ...],
    output: Path | None,
    force: bool,
    one: bool,
    module: bool,
    precision: float,
    budget: float,
    max_runs: int,
    steps: int | None,
    window: float,
    recording: Path | None,
    pack: str | None,
    **choices: bool,
) -> None:
    """Prove that SCRIPT trains faster with its cures, or that a second script does.

    With one SCRIPT, the script as it is is compared with its cured text; the file is not
    touched. With two (prove slow.py fast.py ARGS...) the first is compared with the second. Both
    run in fresh processes, in turn, from this folder, and are ended after the compared steps.

    Exit code 0: proven; 1: not proven, slower or invalid; 2: wrong use.
    """
    from fitdoctor.cli.target import check_module, check_script
    from fitdoctor.proof.measured import Limits

    (check_module if module else check_script)(script)
    if output is not None:
        check_writable(output, force=force)
    limits = Limits(precision / 100, budget, max_runs, steps, window)
    options = Options(limits=limits, recording=recording, pack=pack, **choices)
    if not module and not one and _names_a_script(args):
        check_script(args[0])
        _refuse_cure_options(options)
        proof = _prove_pair(script, args[0], args[1:], options)
    else:
        proof = _prove_cures(script, args, module, options)
        if not module:
            _keep(script, proof)
    _show(proof, output, options)
    sys.exit(0 if proof.verdict == "proven" else NOT_PROVEN)


def _keep(script: str, proof: Proof) -> None:
    """Beside the recordings, where the report of the script finds it."""
    from fitdoctor.cli.config import recordings_folder
    from fitdoctor.launch.recording_files import FOLDER_NAME
    from fitdoctor.report.kept_proofs import keep

    keep(recordings_folder() or Path.cwd() / FOLDER_NAME, script, proof.to_json())


def _names_a_script(args: tuple[str, ...]) -> bool:
    return bool(args) and args[0].endswith(".py") and not args[0].startswith("-")


def _refuse_cure_options(options: Options) -> None:
    names = {name: name for name in ("unsafe", "each", "boost", "pack")} | {"recording": "from"}
    given = [option for name, option in names.items() if getattr(options, name)]
    if given:
        raise UsageError(
            f"--{given[0]} is about the cures of one script; two scripts were given",
            expected="one script, or two without this option",
            advice="--may-differ, if the second may train differently",
        )


def _prove_pair(before: str, after: str, args: tuple[str, ...], options: Options) -> Proof:
    from fitdoctor.proof.proving import Prover
    from fitdoctor.proof.side import Side

    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        prover = Prover(Path(folder), options.limits, options.tell)
        return prover.prove(
            Side("A", before, args),
            Side("B", after, args),
            may_differ=options.may_differ,
            check=not options.no_check,
        )


def _prove_cures(script: str, args: tuple[str, ...], module: bool, options: Options) -> Proof:
    from fitdoctor.cli.report import existing
    from fitdoctor.proof.cures_proof import prove_cures
    from fitdoctor.proof.side import Side

    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        return prove_cures(
            Side("examined", script, args, module),
            Path(folder),
            limits=options.limits,
            unsafe=options.unsafe,
            each=options.each,
            trial=options.boost,
            may_differ=options.may_differ or options.unsafe,
            check=not options.no_check,
            tell=options.tell,
            recording=None if options.recording is None else existing(options.recording),
            pack=options.pack,
        )


def _show(proof: Proof, output: Path | None, options: Options) -> None:
    from fitdoctor.report.proof import render_proof

    if output is not None:
        write_text(output, json.dumps(proof.to_json(), indent=1) + "\n")
    write(sys.stdout, render_proof(proof))
    if output is not None:
        options.say(f"wrote {output}")
