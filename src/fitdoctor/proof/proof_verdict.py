"""Proven, not proven, slower or invalid; whatever is in doubt is not proven."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from fitdoctor.intervals import Interval
from fitdoctor.proof.equivalence import Equivalence
from fitdoctor.proof.measured import Measured
from fitdoctor.proof.spread import more_pairs, pairs_apart
from fitdoctor.units import factor, gain

Verdict = Literal["proven", "not-proven", "slower", "invalid"]

SCHEMA = 1
# A gain whose interval begins below this is not worth the word "faster".
LEAST_GAIN = 1.01


@dataclass(frozen=True)
class Proof:
    """Before against after, judged."""

    verdict: Verdict
    reason: str
    measured: Measured
    equivalence: Equivalence
    predicted: Interval | None = None
    cures: tuple[str, ...] = ()  # what was applied, one line each
    each: tuple[tuple[str, Proof], ...] = ()  # every cure by itself
    dropped: tuple[str, ...] = ()  # those of them that do not help, and are not in the proof
    advice: tuple[str, ...] = ()  # what to do where there was nothing to try

    def to_json(self) -> dict[str, Any]:
        measured = self.measured
        ratio = measured.ratio.to_json() if measured.ratio else {}
        undecided = self.verdict == "not-proven"
        report: dict[str, Any] = {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "ratio": ratio.get("ratio"),
            "low": ratio.get("low"),
            "high": ratio.get("high"),
            "runs": measured.runs,
            "equivalence": asdict(self.equivalence),
            "predicted": self.predicted.to_json() if self.predicted else None,
            "reason": self.reason,
            "steps": measured.steps,
            "step_ns": {
                "before": _whole_ns(measured.before_ns),
                "after": _whole_ns(measured.after_ns),
            },
            "whole": measured.whole.to_json() if measured.whole else None,
            "pairs": {
                "ratios": [round(one, 4) for one in measured.ratios],
                "apart": [round(one, 4) for one in pairs_apart(measured.ratios)],
                "disturbed": measured.disturbed_pairs,
                "more": more_pairs(measured.ratios, LEAST_GAIN) if undecided else None,
            },
            "do": list(self.advice),
            "cures": list(self.cures),
        }
        if self.each:
            report["each"] = [{"cure": cure, **proof.to_json()} for cure, proof in self.each]
            report["dropped"] = list(self.dropped)
        return report


def judge(measured: Measured, equivalence: Equivalence, *, may_differ: bool) -> tuple[Verdict, str]:
    """The verdict and its reason.

    Args:
        measured: the runs.
        equivalence: whether both train the same.
        may_differ: whether a training that learns differently was asked for.
    """
    ratio = measured.ratio
    if measured.invalid or ratio is None:
        return "invalid", measured.invalid or "there is no ratio"
    if ratio.high < 1.0:
        return "slower", f"it is slower: {gain(ratio)}"
    if ratio.low <= LEAST_GAIN:
        return "not-proven", _no_gain(measured, ratio)
    if equivalence.is_different and not may_differ:
        return "not-proven", f"it is faster, but trains differently: {equivalence.detail}"
    reason = f"{gain(ratio)} over {measured.steps} steps in {measured.pairs} pairs of runs"
    if measured.unseen_round is not None:
        reason += (
            f"; what the changed training does once in {measured.unseen_round} steps was not "
            "seen, so it gains less (--window, for longer runs)"
        )
    return "proven", reason


def _no_gain(measured: Measured, ratio: Interval) -> str:
    if ratio.contains(1.0):
        text = f"no measurable change: the interval {gain(ratio)} includes 1"
    else:
        text = f"the gain {gain(ratio)} is too small to be claimed"
    text += f"; {_more(measured, ratio)}"
    if measured.epoch_steps is None:
        text += (
            "; no whole epoch was compared, so what helps from the second epoch on cannot show "
            "(--window, for longer runs)"
        )
    return text


def _more(measured: Measured, ratio: Interval) -> str:
    """What would decide, as far as the spread of the pairs tells."""
    more = more_pairs(measured.ratios, LEAST_GAIN)
    if more is None:
        return f"a gain of {factor(max(ratio.high, LEAST_GAIN))}× or more is ruled out"
    runs = measured.runs + 2 * more
    pairs = f"{more} more pair{'' if more == 1 else 's'}"
    return f"about {pairs} would decide (--max-runs {runs}, and --budget)"


def _whole_ns(value: float | None) -> int | None:
    return None if value is None else round(value)
