"""`fitdoctor compare`: two recordings or reports side by side, and a gate for CI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import say, write

if TYPE_CHECKING:
    from fitdoctor.comparison.pairs import Pair

FAILED = 1


@click.command("compare", short_help="Compare two recordings or reports; gate a CI.")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="[B]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--fail-if",
    multiple=True,
    metavar="CONDITION",
    help='Exit with 1 if it holds, as in "step > 1.1x", "step > 50ms", "input_wait > 20%", '
    '"findings > 0". May be given several times.',
)
@shared.json_only
def command(*, before: Path, after: Path | None, fail_if: tuple[str, ...], as_json: bool) -> int:
    """Compare B with A: recordings (.rec) or reports (.json). A alone is checked against a budget.

    A condition is about B, or about A if it is alone: a quantity (step, ceiling, findings,
    or a part such as input_wait, callbacks, validation, compile), one of > >= < <=, and a
    limit: 1.1x times its value in A, 50ms (ns, us, ms, s), 20% of a step, or a number of
    findings.
    """
    from fitdoctor.comparison.compared_run import read_side
    from fitdoctor.comparison.gate import broken, parse_condition
    from fitdoctor.comparison.pairs import Pair, pairs
    from fitdoctor.comparison.table import budget_text, comparison_text

    conditions = [parse_condition(text) for text in fail_if]
    first = read_side(before)
    matched = (
        [Pair(None, workload) for workload in first.workloads]
        if after is None
        else pairs(first, read_side(after))
    )
    failed = [(each.text, reason) for each in conditions for reason in broken(each, matched)]
    if as_json:
        write(sys.stdout, json.dumps(_json(matched, failed), indent=2, allow_nan=False) + "\n")
    else:
        text = budget_text(first) if after is None else comparison_text(matched)
        write(sys.stdout, text + "\n")
    for text, reason in failed:
        say(f"failed: {text}: {reason}")
    return FAILED if failed else 0


def _json(matched: list[Pair], failed: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "schema": 1,
        "workloads": [
            {
                "kind": pair.either.kind,
                "where": pair.either.place,
                "before_ns": pair.before.step.value if pair.before and pair.before.step else None,
                "after_ns": pair.after.step.value if pair.after and pair.after.step else None,
                "change": pair.ratio.to_json() if pair.ratio else None,
            }
            for pair in matched
        ],
        "failed": [{"condition": text, "reason": reason} for text, reason in failed],
    }
