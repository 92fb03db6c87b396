"""`fitdoctor prove`: before against after, interleaved, with an interval; same learning or not."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli.output import check_writable, say, write, write_text

if TYPE_CHECKING:
    from fitdoctor.proof.measure import Limits, Progress
    from fitdoctor.proof.verdict import Proof

NOT_PROVEN = 1


def _finite(context: click.Context, option: click.Parameter, value: float) -> float:
    # A comparison with NaN is never true, so no range refuses it.
    if math.isnan(value):
        raise click.BadParameter("nan is not a number", param_hint=f"'{option.opts[0]}'")
    return value


@click.command(
    "prove",
    context_settings={"allow_interspersed_args": False},
    short_help="Prove that a change makes training faster, and that it trains the same.",
)
@click.option(
    "-o",
    "--output",
    "--json",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the result as JSON.",
)
@click.option("--force", is_flag=True, help="Overwrite an output file that exists.")
@click.option(
    "--precision",
    type=click.FloatRange(min=0, min_open=True, max=1000),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    callback=_finite,
    help="Stop when the interval reaches no farther than this.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True, max=86400),
    default=300,
    show_default=True,
    metavar="SECONDS",
    callback=_finite,
    help="Time for all timed runs.",
)
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
@click.option(
    "--window",
    type=click.FloatRange(min=0, min_open=True, max=86400),
    default=10,
    show_default=True,
    metavar="SECONDS",
    callback=_finite,
    help="Training time of one run.",
)
@click.option("--may-differ", is_flag=True, help="A change that learns differently may be proven.")
@click.option("--no-check", is_flag=True, help="Do not compare data and learning.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the result.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    script: str,
    args: tuple[str, ...],
    output: Path | None,
    force: bool,
    precision: float,
    budget: float,
    max_runs: int,
    steps: int | None,
    window: float,
    may_differ: bool,
    no_check: bool,
    quiet: bool,
) -> None:
    """Compare two scripts: SCRIPT is the slow one, the first of ARGS the fast one.

    Both run in fresh processes, in turn, with the same arguments and from this folder, and are
    ended after the compared steps. Exit code 0: proven; 1: not proven, slower or invalid.
    """
    from fitdoctor.cli.target import check_script
    from fitdoctor.proof.measure import Limits

    check_script(script)
    if output is not None:
        check_writable(output, force=force)
    limits = Limits(precision / 100, budget, max_runs, steps, window)
    after, rest = args[0], args[1:]
    check_script(after)
    proof = _prove_pair(script, after, rest, limits, may_differ, not no_check, quiet)
    _show(proof, output, quiet)
    sys.exit(0 if proof.verdict == "proven" else NOT_PROVEN)
