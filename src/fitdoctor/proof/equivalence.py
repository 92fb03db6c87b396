"""Whether two trainings are the same: the data they see, and what they learn from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fitdoctor.contract.learning import SAMPLE_SPACE, Batch
from fitdoctor.proof.learned import OUTPUTS, Learned

DataStream = Literal["identical", "same-multiset", "different", "not-checked"]
Learning = Literal["bitwise", "close", "different", "not-checked"]
CureClass = Literal["safe", "unsafe", "given"]

# Relative difference up to which learning counts as close, by what is compared. Rounding alone
# gave 3e-8 to 2e-7 after 80 steps (jit, eager against compiled, other batch shapes); a cure
# that claims to change nothing has no more. Lower precision rounds to about 1e-3.
TOLERANCES: dict[CureClass, float] = {"safe": 1e-6, "given": 1e-5, "unsafe": 1e-3}


@dataclass(frozen=True)
class Equivalence:
    """What was compared, and with what result; the detail is for people."""

    data_stream: DataStream
    learning: Learning
    detail: str

    @property
    def is_different(self) -> bool:
        """Whether the second trains differently from the first, as far as was seen."""
        return "different" in (self.data_stream, self.learning)


def not_checked(reason: str) -> Equivalence:
    """Nothing was compared."""
    return Equivalence("not-checked", "not-checked", reason)


def compare(before: Learned, after: Learned, cure: CureClass = "given") -> Equivalence:
    """Compare two runs of the same number of steps."""
    data, data_detail = compare_data(before, after)
    learning, learning_detail = compare_learning(before, after, TOLERANCES[cure])
    return Equivalence(data, learning, "; ".join(filter(None, (data_detail, learning_detail))))


def with_repetition(
    first: Equivalence, before: Learned, again: Learned, cure: CureClass = "given"
) -> Equivalence:
    """Judge a difference by whether the first script differs from itself as well."""
    own = compare(before, again, cure)
    data, learning, details = first.data_stream, first.learning, [first.detail]
    if own.data_stream in ("different", "same-multiset"):
        if data == "different":
            data = "not-checked"
        details.insert(0, "the first script's own data differ from run to run (unseeded?)")
    if own.learning == "different":
        if learning in ("different", "close"):
            learning = "not-checked"
        details.insert(0, "the first script itself learns differently from run to run")
    elif own.learning == "close" and learning == "different":
        details.append("the first script differs from itself only by rounding")
    return Equivalence(data, learning, "; ".join(details))


# -- data --------------------------------------------------------------------------


def compare_data(before: Learned, after: Learned) -> tuple[DataStream, str]:
    """Batch by batch in order, else the samples whatever their order."""
    a, b = before.batches, after.batches
    if not a and not b:
        return "not-checked", "no batch could be seen"
    if not a or not b:
        return "not-checked", f"the batches of {'B' if a else 'A'} could not be seen"
    count = min(len(a), len(b))
    differing = next((i for i in range(count) if a[i].digest != b[i].digest), None)
    if differing is None and (len(a) == len(b) or before.steps != after.steps):
        return "identical", f"{count} batches identical, in the same order"
    if _same_samples(a, b):
        return "same-multiset", _other_order(differing, len(a), len(b))
    # In the midst of an epoch another order shows other samples: look at its end.
    ends = [end for end in before.epoch_ends if end in after.epoch_ends and end <= count]
    for end in reversed(ends):
        if _same_samples(a[:end], b[:end]):
            return "same-multiset", _other_order(differing, end, end)
    if differing is None:
        return "different", f"A trained on {len(a)} batches, B on {len(b)}"
    text = f"the data differ from batch {differing + 1} on"
    if not ends:
        text += " (no epoch came to its end, so whether only the order differs was not seen)"
    return "different", text


def _other_order(differing: int | None, a: int, b: int) -> str:
    where = f" from batch {differing + 1} on" if differing is not None else ""
    batches = f"{a}" if a == b else f"{a} and {b}"
    return f"the same samples in {batches} batches, in another order or division{where}"


def _same_samples(a: Sequence[Batch], b: Sequence[Batch]) -> bool:
    if any(one.total is None or one.rows is None for one in (*a, *b)):
        return False
    rows = [sum(one.rows or 0 for one in side) for side in (a, b)]
    totals = [sum(one.total or 0 for one in side) % SAMPLE_SPACE for side in (a, b)]
    return rows[0] == rows[1] > 0 and totals[0] == totals[1]


# -- learning ----------------------------------------------------------------------


def compare_learning(before: Learned, after: Learned, tolerance: float) -> tuple[Learning, str]:
    """Losses step by step, outputs, and the weights at the end."""
    losses = _compare_losses(before.losses, after.losses, tolerance)
    verdicts = [losses]
    if before.steps == after.steps:
        weights = _compare_weights(before, after, tolerance)
        if weights[0] == "bitwise" and losses[0] in ("different", "close"):
            # What `fit` reports is a mean since its metrics were reset, as an evaluation does.
            losses = ("bitwise", f"only the reported {losses[1]}")
        verdicts = [losses, weights, _compare_outputs(before, after, tolerance)]
    checked = [v for v in verdicts if v[0] != "not-checked"]
    if not checked:
        return "not-checked", "; ".join(text for _, text in verdicts if text)
    order: tuple[Learning, ...] = ("different", "close", "bitwise")
    worst = next(one for one in order if any(v[0] == one for v in checked))
    texts = [text for verdict, text in checked if verdict == worst and text]
    if worst != "bitwise":
        texts.append(f"tolerance {tolerance:g} relative")
    return worst, "; ".join(texts)


def _compare_losses(
    a: dict[int, float], b: dict[int, float], tolerance: float
) -> tuple[Learning, str]:
    # With steps_per_execution a loss is seen only every few steps.
    common = sorted(set(a) & set(b))
    if not common:
        return "not-checked", ""
    differing = [step for step in common if a[step].hex() != b[step].hex()]
    if not differing:
        return "bitwise", f"{_many(len(common), 'loss', 'losses')} bitwise equal"
    far = [step for step in differing if relative_difference(a[step], b[step]) > tolerance]
    if far:
        difference = relative_difference(a[far[0]], b[far[0]])
        return "different", f"loss differs from step {far[0]} on (by {difference:.1e} there)"
    largest = max(relative_difference(a[step], b[step]) for step in differing)
    return "close", f"losses differ by at most {largest:.1e}, from step {differing[0]} on"


def _compare_weights(before: Learned, after: Learned, tolerance: float) -> tuple[Learning, str]:
    a = {name: value for name, value in before.weights.items() if name != OUTPUTS}
    b = {name: value for name, value in after.weights.items() if name != OUTPUTS}
    if not a or not b:
        reason = before.why_no_weights or after.why_no_weights
        return "not-checked", f"weights not compared: {reason}" if reason else ""
    pairs = _paired(a, b)
    if pairs is None:
        return "different", f"the models differ: {len(a)} and {len(b)} weights of other shapes"
    differing = [
        (array_difference(one, other), name)
        for name, one, other in pairs
        if one.tobytes() != other.tobytes()
    ]
    if not differing:
        return "bitwise", f"{_many(len(pairs), 'weight array')} bitwise equal"
    worst, where = max(differing, key=lambda found: found[0])
    return _by_rounding(worst, tolerance), f"weight {where} differs by {worst:.1e}"


def _compare_outputs(before: Learned, after: Learned, tolerance: float) -> tuple[Learning, str]:
    if not before.outputs or not after.outputs:
        return "not-checked", ""
    if before.outputs == after.outputs:
        return "bitwise", f"{_many(len(before.outputs), 'prediction')} bitwise equal"
    a, b = before.weights.get(OUTPUTS), after.weights.get(OUTPUTS)
    if a is None or b is None or a.shape != b.shape:
        return "different", "predictions differ"
    difference = array_difference(a, b)
    return _by_rounding(difference, tolerance), f"predictions differ by {difference:.1e}"


def _by_rounding(difference: float, tolerance: float) -> Learning:
    return "close" if difference <= tolerance else "different"


def _paired(
    a: dict[str, np.ndarray[Any, Any]], b: dict[str, np.ndarray[Any, Any]]
) -> list[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]] | None:
    """By name; where names were given again, by place and shape."""
    if set(a) == set(b):
        pairs = [(name, a[name], b[name]) for name in a]
    elif len(a) == len(b):
        pairs = [(name, a[name], other) for name, other in zip(a, b.values(), strict=True)]
    else:
        return None
    return pairs if all(one.shape == other.shape for _, one, other in pairs) else None


def relative_difference(a: float, b: float) -> float:
    """|a - b| over the larger of the two; 0 for two equal values, NaN included."""
    if a == b or (a != a and b != b):
        return 0.0
    difference = abs(a - b)
    return difference / max(abs(a), abs(b)) if np.isfinite(difference) else float("inf")


def array_difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """The largest difference over the largest number, so that weights near zero do not count."""
    if a.size == 0:
        return 0.0
    one, other = a.astype(np.float64), b.astype(np.float64)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if bool(same.all()):
        return 0.0
    scale = float(np.nanmax(np.maximum(np.abs(one), np.abs(other))))
    largest = float(np.max(np.where(same, 0.0, np.abs(one - other))))
    if not np.isfinite(largest) or not np.isfinite(scale):
        return float("inf")
    return largest / scale


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"
