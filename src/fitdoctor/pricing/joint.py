"""The gain of several cures together: savings add up part by part, gains never multiply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.calibration import joint_width

_SMALLEST_SHARE = 0.001  # no prediction goes below this share of the present step


def after(total: Interval, saved: Interval) -> Interval:
    """What is left of a step when something is saved from it."""
    floor = total.value * _SMALLEST_SHARE
    value = max(floor, total.value - saved.value)
    # The uncertainty that counts is the saving's: the total is in numerator and denominator.
    low = max(floor, total.value - saved.high)
    high = max(floor, total.value - saved.low)
    return Interval(value, min(low, value), max(high, value))


def saved_leaving(total: Interval, left: Interval) -> Interval:
    """What is saved when this much is left of a step.

    For cures that take nearly everything away, what is left is known better than what
    is saved: 98 % saved, give or take 2 %, would say nothing about the gain.
    """
    return Interval.exact(total.value).minus(left)


def gain(total: Interval, saved: Interval) -> Interval:
    """Time now over time after."""
    left = after(total, saved)
    return Interval(total.value / left.value, total.value / left.high, total.value / left.low)


def joint_gain(
    total: Interval, parts: Mapping[str, float], findings: Sequence[Finding]
) -> Interval | None:
    """The gain of all cures at once, with an interval as scored cases ask for; None without cures.

    Never less than the best of them alone: a cure that saves on the start-up, or on all parts at
    once, is not bound to one part. A bound says what could be there at most, and counts only where
    nothing better is known.

    Args:
        total: a step with everything around it.
        parts: where its time goes, as the breakdown shows it.
        findings: those whose cures are made.
    """
    known = [finding for finding in findings if finding.how != "bound"]
    if findings and not known:
        return max((finding.gain for finding in findings), key=lambda one: one.value)
    gains = [finding.gain for finding in known]
    savings = [finding.saves for finding in known if finding.saves]
    if savings:
        gains.append(gain(total, _saved_together(savings, parts)))
    best = max(gains, key=lambda one: one.value, default=None)
    return None if best is None else joint_width(known).around(best)


def gain_over_workloads(workloads: Sequence[tuple[float, Interval | None]]) -> Interval | None:
    """The gain over several workloads, each with its time now: times add up, gains do not."""
    now = sum(ns for ns, _ in workloads)
    if not now or not any(one for _, one in workloads):
        return None
    pairs = [(ns, one or Interval.exact(1.0)) for ns, one in workloads]
    return Interval(
        now / sum(ns / one.value for ns, one in pairs),
        now / sum(ns / one.low for ns, one in pairs),
        now / sum(ns / one.high for ns, one in pairs),
    )


def _saved_together(
    savings: Sequence[Mapping[str, Interval]], parts: Mapping[str, float]
) -> Interval:
    """Two cures of the same part do not add up: the better one counts.

    No part gives more than it has, but all cures together give no less than the best of them
    alone: a larger batch is booked to the step, and takes from the waits between steps as well.
    """
    best: dict[str, Interval] = {}
    for saving in savings:
        for part, saved in saving.items():
            if part not in best or saved.value > best[part].value:
                best[part] = saved
    by_input = best["input_wait"].value if "input_wait" in best else 0.0
    available = curable_parts(parts, by_input)
    combined = _sum(
        Interval.minimum(saved, Interval.exact(available.get(part, 0.0)))
        for part, saved in best.items()
    )
    alone = max((_sum(saving.values()) for saving in savings), key=lambda saved: saved.value)
    return alone if alone.value > combined.value else combined


def curable_parts(parts: Mapping[str, float], by_input: float = 0.0) -> dict[str, float]:
    """What each part has to give; loader contention counts as waiting for input.

    Args:
        parts: nanoseconds per step.
        by_input: what a cure of the input saves. Where that is more than the wait, the rest is
            the first batch of each epoch, which is waited for between epochs.
    """
    found = dict(parts)
    waiting = found.get("input_wait", 0.0) + found.pop("loader_contention", 0.0)
    gap = found.get("epoch_gap", 0.0)
    first = min(gap, max(0.0, by_input - waiting))
    return {**found, "epoch_gap": gap - first, "input_wait": waiting + first}


def _sum(saved: Iterable[Interval]) -> Interval:
    return sum(saved, start=Interval.exact(0.0))
