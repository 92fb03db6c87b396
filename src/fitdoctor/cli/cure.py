"""`fitdoctor cure`: examine, choose the cures, try them, prove them, and write them if asked."""

from __future__ import annotations

import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.examined import examined
from fitdoctor.cli.output import Color, check_writable, terminal_width, use_color, write, write_json
from fitdoctor.cli.put_back import put_back
from fitdoctor.cli.record import Verbosity
from fitdoctor.cli.script_command import script_command
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import Script

if TYPE_CHECKING:
    from fitdoctor.proof.cures_proof import ProvenCures
    from fitdoctor.proof.measured import Limits

NOT_PROVEN = 1
# Of the proofs: enough to tell a gain from none; `prove` measures more finely.
PRECISION = 0.1
MAX_RUNS = 12
WINDOW_S = 6.0


@dataclass(frozen=True)
class Goal:
    """How much the training may change."""

    unsafe: bool
    may_differ: bool
    words: str


GOALS = {
    "exact": Goal(False, False, "the same samples, order and arithmetic"),
    "close": Goal(True, False, "the same up to rounding"),
    "any": Goal(True, True, "whatever is faster"),
}


@script_command("cure", "Make a script faster: examine, try, prove, and write.", required=False)
@click.option(
    "--goal",
    type=click.Choice(list(GOALS)),
    default="exact",
    show_default=True,
    help="How much training may change: not at all, by rounding, or in any way.",
)
@click.option("--apply", is_flag=True, help="Write what is proven; the old files are kept.")
@click.option("--undo", is_flag=True, help="Put back the files of the last --apply.")
@shared.pack
@shared.file_option("-o", "--output", "--json", "output", text=shared.JSON_TEXT)
@shared.force
@shared.budget(shared.EXAMINED_TIME)
@shared.number(
    "--proof-budget",
    default=120,
    most=86400,
    metavar="SECONDS",
    help="Time for the runs of one proof.",
)
@shared.quiet
@shared.color
def command(
    *,
    script: Script | None,
    goal: str,
    apply: bool,
    undo: bool,
    pack: str | None,
    output: Path | None,
    force: bool,
    budget: float,
    proof_budget: float,
    quiet: bool,
    color: Color,
) -> int:
    """Make SCRIPT faster: find the cures, try each, and prove those that help.

    SCRIPT is examined with its own ARGS as in `fitdoctor run`. Every cure is tried alone in short
    runs. Those that help are proven together, and the diff is shown. Nothing is written without
    --apply.

    Exit code 0: proven; 1: nothing to write; 2: wrong use.
    """
    from fitdoctor.proof.measured import Limits

    verbosity = Verbosity(quiet=quiet, verbose=False, color=color)
    if undo:
        if script is not None or apply:
            raise UsageError("--undo takes nothing else", advice="fitdoctor cure --undo")
        return put_back(verbosity.say)
    if script is None:
        raise UsageError("there is no script", expected="SCRIPT", advice="fitdoctor cure train.py")
    if output is not None:
        check_writable(output, force=force)
    recording = examined(script, budget, verbosity)
    limits = Limits(PRECISION, proof_budget, MAX_RUNS, None, WINDOW_S)
    found = _proven(script, recording, GOALS[goal], limits, pack, verbosity)
    is_proven = found.proof.verdict == "proven"
    written = apply and is_proven
    if written:
        from fitdoctor.cures.writing import write_patch

        write_patch(found.patch, Path.cwd())
    if output is not None:
        write_json(output, _as_json(found, goal, recording, written=written))
    if not quiet:
        _show(found, goal, color)
        verbosity.say(_what_next(found, goal, recording, pack, written=written))
    return 0 if is_proven else NOT_PROVEN


def _proven(
    script: Script,
    recording: Path,
    goal: Goal,
    limits: Limits,
    pack: str | None,
    verbosity: Verbosity,
) -> ProvenCures:
    from fitdoctor.cli.prove import progress_line
    from fitdoctor.proof.cures_proof import prove_cures
    from fitdoctor.proof.side import Side

    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        return prove_cures(
            Side("examined", script.path, script.argv, script.module),
            Path(folder),
            limits=limits,
            unsafe=goal.unsafe,
            each=True,
            trial=False,
            may_differ=goal.may_differ,
            check=True,
            check_each=goal.unsafe and not goal.may_differ,
            tell=lambda progress: verbosity.say(progress_line(progress)),
            recording=recording,
            pack=pack,
        )


def _show(found: ProvenCures, goal: str, color: Color) -> None:
    """The proof, what was left out and why, and the diff."""
    from fitdoctor.report.patch_text import render_diff, render_left_out
    from fitdoctor.report.proof import render_proof

    width, colored = terminal_width(sys.stdout), use_color(color, sys.stdout)
    write(sys.stdout, render_proof(found.proof))
    write(sys.stdout, f"  {'goal':<9} {goal}: {GOALS[goal].words}\n")
    write(sys.stdout, render_left_out(found.patch, width=width, color=colored))
    if found.proof.verdict == "proven":
        write(sys.stdout, "\n" + render_diff(found.patch, width=width, color=colored))


def _what_next(
    found: ProvenCures, goal: str, recording: Path, pack: str | None, *, written: bool
) -> str:
    if written:
        return "written; undo: fitdoctor cure --undo"
    if found.proof.verdict == "proven":
        rules = ",".join(sorted({one.finding.rule for one in found.patch.applied}))
        more = " --unsafe" if GOALS[goal].unsafe else ""
        more += f" --pack {shlex.quote(pack)}" if pack is not None else ""
        return f"apply: fitdoctor fix --from {recording} --select {rules}{more} --apply"
    if goal == "exact" and any(one.kind == "unsafe" for one in found.patch.declined):
        return "there are cures that may change training: --goal close, or --goal any"
    return f"nothing was written; the whole report: fitdoctor report {recording}"


def _as_json(found: ProvenCures, goal: str, recording: Path, *, written: bool) -> dict[str, Any]:
    patch = found.patch
    return {
        **found.proof.to_json(),
        "goal": goal,
        "recording": str(recording),
        "written": written,
        "diff": patch.diff() if found.proof.verdict == "proven" else "",
        "left_out": [
            {"rule": one.finding.rule, "kind": one.kind, "reason": one.reason, "do": one.advice}
            for one in patch.declined
        ],
    }
