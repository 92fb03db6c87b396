"""The outcomes as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from casebook.outcome import Outcome, count_right, count_run, median_error

NOTHING = "-"


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print one row per case, then why each wrong one is wrong, then the sum of it."""
    table = Table()
    for name in ("case", "expected", "found"):
        table.add_column(name)
    for name in ("predicted", "real", "error", "verdict after"):
        table.add_column(name, justify="right")
    table.add_column("judged")
    for outcome in outcomes:
        table.add_row(*row(outcome))
    console.print(table)
    # Plain text below the table: a reason in a narrow column cannot be read.
    for line in (*wrong_lines(outcomes), summary(outcomes)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def row(outcome: Outcome) -> tuple[str, ...]:
    """The cells of one case."""
    judgement, real, error = outcome.judgement, outcome.real, outcome.gain_error
    predicted = judgement.predicted
    return (
        outcome.case.id,
        outcome.case.expect or "healthy",
        ", ".join(judgement.found) or NOTHING,
        gain_text(predicted.ratio, predicted.low, predicted.high) if predicted else NOTHING,
        gain_text(real.ratio, real.low, real.high) if real else NOTHING,
        f"{error:+.0%}" if error is not None else NOTHING,
        f"{outcome.verdict_s:.0f} s",
        judged(outcome),
    )


def judged(outcome: Outcome) -> str:
    """Right, wrong, or why it was not run."""
    if outcome.skipped:
        return f"skipped: {outcome.skipped}"
    return "right" if outcome.judgement.is_right else "wrong"


def wrong_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """One line for each wrong case, with all its reasons."""
    return [
        f"{outcome.case.id} wrong: {'; '.join(outcome.judgement.reasons)}"
        for outcome in outcomes
        if not outcome.judgement.is_right
    ]


def gain_text(ratio: float, low: float, high: float) -> str:
    """A gain with its interval.

    Example:
        >>> gain_text(2.4, 2.1, 2.7)
        '2.40x (2.10-2.70)'
    """
    return f"{ratio:.2f}x ({low:.2f}-{high:.2f})"


def summary(outcomes: Sequence[Outcome]) -> str:
    """Median error of the predictions and the count of right verdicts."""
    error = median_error(outcomes)
    text = f"{error:.0%}" if error is not None else "not measured"
    right = f"{count_right(outcomes)} of {count_run(outcomes)} right"
    if skipped := len(outcomes) - count_run(outcomes):
        right += f", {skipped} skipped"
    return f"median error of the predicted gain: {text}\n{right}"
