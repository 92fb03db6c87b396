"""`fitdoctor compare`: two recordings or reports side by side, and a gate for CI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli.output import say, write

if TYPE_CHECKING:
    from fitdoctor.comparison.pairs import Pair

FAILED = 1


@click.command("compare", short_help="Compare two recordings or reports; gate a CI.")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--fail-if",
    multiple=True,
    metavar="CONDITION",
    help='Exit with 1 if it holds, as in "step > 1.1x", "step > 50ms", "input_wait > 20%", '
    '"findings > 0". May be given several times.',
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout.")
def command(*, before: Path, after: Path, fail_if: tuple[str, ...], as_json: bool) -> int:
    """Compare B with A: recordings (.rec) or reports (.json).

    A condition is about B: a quantity (step, ceiling, findings, or a part such as
    input_wait, callbacks, validation, compile), one of > >= < <=, and a limit: 1.1x times
    its value in A, 50ms (ns, us, ms, s), 20% of a step, or a number of findings.
    """
    from fitdoctor.comparison.gate import broken_by, parse_condition
    from fitdoctor.comparison.pairs import pairs
    from fitdoctor.comparison.side import read_side
    from fitdoctor.comparison.table import comparison_text

    conditions = [parse_condition(text) for text in fail_if]
    matched = pairs(read_side(before), read_side(after))
    broken = [
        (condition.text, reason)
        for condition in conditions
        for pair in matched
        if (reason := broken_by(condition, pair))
    ]
    if as_json:
        write(sys.stdout, json.dumps(_json(matched, broken), indent=2, allow_nan=False) + "\n")
    else:
        write(sys.stdout, comparison_text(matched) + "\n")
    for text, reason in broken:
        say(f"failed: {text}: {reason}")
    return FAILED if broken else 0


def _json(matched: list[Pair], broken: list[tuple[str, str]]) -> dict[str, Any]:
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
        "failed": [{"condition": text, "reason": reason} for text, reason in broken],
    }
