"""A proof as text for people."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from fitdoctor.intervals import Interval
from fitdoctor.proof.measured import Measured
from fitdoctor.proof.proof_verdict import Proof
from fitdoctor.proof.spread import pairs_apart
from fitdoctor.units import duration, factor, gain

WORDS = {
    "proven": "Proven",
    "not-proven": "Not proven",
    "slower": "Slower",
    "invalid": "Invalid",
}


def render_proof(proof: Proof) -> str:
    """The verdict, the numbers beside the prediction, and what was compared."""
    lines = [f"{WORDS[proof.verdict]}: {proof.reason}"]
    measured = proof.measured
    if measured.ratio is not None:
        lines.append(_row("step", _steps(measured, measured.ratio)))
        if measured.whole is not None:
            lines.append(_row("whole", f"{gain(measured.whole)} with start-up, over these steps"))
        lines.append(_row("runs", f"{measured.runs} in {measured.pairs} pairs, 95 % interval"))
        lines.extend(_row("", text) for text in _unusual(measured))
        if proof.predicted is not None:
            lines.append(_row("gain", _scored(proof.predicted, measured.ratio)))
    lines.extend(_row("" if number else "do", one) for number, one in enumerate(proof.advice))
    if not measured.runs:
        return "\n".join(lines) + "\n"
    lines.append(_row("data", proof.equivalence.data_stream))
    lines.append(_row("learning", proof.equivalence.learning))
    if proof.equivalence.detail:
        lines.append(_row("", proof.equivalence.detail))
    lines.extend(
        _row("cure" if not number else "", cure) for number, cure in enumerate(proof.cures)
    )
    for cure, one in proof.each:
        lines.append(_row("alone", f"{cure}: {_alone(one)}"))
    lines.extend(_row("dropped", cure) for cure in proof.dropped)
    return "\n".join(lines) + "\n"


def _steps(measured: Measured, ratio: Interval) -> str:
    before, after = measured.before_ns, measured.after_ns
    times = f"{duration(before)} → {duration(after)}" if before and after else ""
    further = f", {measured.further_steps} more of the faster" if measured.further_steps else ""
    which = f"steps {measured.warm_up + 1} to {measured.steps} of each run{further}"
    return f"{times}   {gain(ratio)}   {which}"


def _unusual(measured: Measured) -> Iterator[str]:
    """Pairs that were left out, and those that lie apart and were not."""
    if count := measured.disturbed_pairs:
        pairs = "1 pair was" if count == 1 else f"{count} pairs were"
        yield f"{pairs} disturbed by other processes, left out, and repeated"
    if apart := pairs_apart(measured.ratios):
        ratios = ", ".join(f"{factor(one)}×" for one in apart)
        pairs = "1 pair lies" if len(apart) == 1 else f"{len(apart)} pairs lie"
        usual = factor(statistics.median(measured.ratios))
        yield f"{pairs} apart ({ratios} beside {usual}×) and counts like the others"


def _scored(predicted: Interval, proven: Interval) -> str:
    if predicted.low <= proven.high and proven.low <= predicted.high:
        score = "as predicted"
    else:
        score = "less than predicted" if proven.value < predicted.value else "more than predicted"
    return f"predicted {gain(predicted)}, proven {gain(proven)}: {score}"


def _alone(proof: Proof) -> str:
    if proof.verdict == "proven" and proof.measured.ratio:
        return f"helps, {gain(proof.measured.ratio)}"
    if proof.verdict == "invalid":
        return f"not measured: {proof.reason}"
    return f"does not help: {proof.reason}"


def _row(label: str, text: str) -> str:
    return f"  {label:<9} {text}"
