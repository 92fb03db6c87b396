"""Right or wrong: compare fitdoctor's report on a case with what the case expects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casebook.case import Case
from casebook.diagnose import Diagnosis
from casebook.gain import Gain

# CASEBOOK.md: a predicted gain may be off by 30 %, or by 0.3x where the real gain is below 2x.
RELATIVE_TOLERANCE = 0.30
SMALL_GAIN = 2.0
SMALL_GAIN_TOLERANCE = 0.3


@dataclass(frozen=True)
class Predicted:
    """fitdoctor's gain of its first finding, or of all together where the case says joint."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Judgement:
    """The outcome of one case: what was found, and every reason why it is wrong."""

    found: tuple[str, ...]
    predicted: Predicted | None
    reasons: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return not self.reasons


def judge(case: Case, diagnosis: Diagnosis, real: Gain | None) -> Judgement:
    """Judge one diagnosis. `real` is None where the gain was not measured: then it is not judged."""
    if diagnosis.report is None:
        return Judgement((), None, (diagnosis.error,))
    workloads = diagnosis.report.get("workloads", [])
    if not workloads:
        return Judgement((), None, ("no workload was recorded",))
    findings = _all_findings(workloads) if case.joint else dominant_findings(workloads)
    found = tuple(finding["rule"] for finding in findings)
    predicted = _predicted(case, diagnosis.report, workloads, findings)
    if case.is_healthy:
        reasons = (*_false_alarms(workloads), *_missing_option(case, workloads))
        reasons += tuple(_wrong_warnings(case, workloads))
    else:
        reasons = tuple(_errors(case, workloads, findings, predicted, real))
    return Judgement(found, predicted, reasons)


def dominant_findings(workloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings of the workload with the largest predicted gain; empty if none has any."""
    return list(_dominant(workloads).get("findings", []))


def _all_findings(workloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two causes may lie in two workloads, as in a loop that calls predict and fit in turn."""
    dominant = _dominant(workloads)
    others = [workload for workload in workloads if workload is not dominant]
    return [finding for one in (dominant, *others) for finding in one.get("findings", [])]


def predicted_gain(finding: dict[str, Any]) -> Predicted | None:
    """The gain of a finding; None where fitdoctor makes no claim."""
    return _as_predicted(finding.get("gain"))


def relative_error(predicted: float, real: float) -> float:
    """How far the prediction is off, as a part of the real gain.

    Example:
        >>> relative_error(3.0, 4.0)
        -0.25
    """
    return (predicted - real) / real


def is_close(predicted: float, real: float) -> bool:
    """Whether a predicted gain is near enough to the real one."""
    if real < SMALL_GAIN:
        return abs(predicted - real) <= SMALL_GAIN_TOLERANCE
    return abs(relative_error(predicted, real)) <= RELATIVE_TOLERANCE


def _predicted(
    case: Case,
    report: dict[str, Any],
    workloads: list[dict[str, Any]],
    findings: list[dict[str, Any]],
) -> Predicted | None:
    if case.joint:
        if sum(bool(workload["findings"]) for workload in workloads) > 1:
            return _as_predicted(report.get("joint_gain"))  # of the whole script
        return _as_predicted(_dominant(workloads).get("joint_gain"))
    return predicted_gain(findings[0]) if findings else None


def _as_predicted(gain: dict[str, Any] | None) -> Predicted | None:
    return None if gain is None else Predicted(gain["ratio"], gain["low"], gain["high"])


def _dominant(workloads: list[dict[str, Any]]) -> dict[str, Any]:
    with_findings = [workload for workload in workloads if workload["findings"]]
    return max(with_findings, key=lambda workload: _largest_ratio(workload["findings"]), default={})


def _largest_ratio(findings: list[dict[str, Any]]) -> float:
    gains = [predicted_gain(finding) for finding in findings]
    # A finding without a claim ranks behind every claim, whatever its size.
    return max((gain.ratio for gain in gains if gain is not None), default=0.0)


def _false_alarms(workloads: list[dict[str, Any]]) -> Iterator[str]:
    for workload in workloads:
        for finding in workload["findings"]:
            yield f"false alarm: {finding['rule']}"
    # No finding because nothing was examined is no verdict on the script's health.
    if all(workload.get("verdict") == "not-judged" for workload in workloads):
        yield "not judged"


def _wrong_warnings(case: Case, workloads: list[dict[str, Any]]) -> Iterator[str]:
    """Rules that warn of what takes no time yet."""
    health = [one for workload in workloads for one in workload.get("health", [])]
    warned = {one["rule"] for one in health if one.get("rule")}
    if case.warning and case.warning not in warned:
        yield f"{case.warning} does not warn"
    yield from (f"false alarm: {rule} warns" for rule in sorted(warned - {case.warning}))


def _missing_option(case: Case, workloads: list[dict[str, Any]]) -> Iterator[str]:
    offered = {one["rule"] for workload in workloads for one in workload.get("options", [])}
    if case.option and case.option not in offered:
        yield f"{case.option} is not offered"


def _errors(
    case: Case,
    workloads: list[dict[str, Any]],
    findings: list[dict[str, Any]],
    predicted: Predicted | None,
    real: Gain | None,
) -> Iterator[str]:
    if not findings:
        verdicts = ", ".join(str(workload.get("verdict")) for workload in workloads)
        yield f"expected {case.expect}, found nothing ({verdicts})"
        return
    yield from _wrong_rules(case, workloads, findings)
    yield from _forbidden_advice(case, findings)
    expected = [finding for finding in findings if finding["rule"] == case.expect]
    if not expected or (not case.joint and findings[0] is not expected[0]):
        # The place and the gain of another cause say nothing about this one.
        return
    yield from _wrong_place(case, expected[0])
    yield from wrong_gain(predicted, real)


def _wrong_rules(
    case: Case, workloads: list[dict[str, Any]], findings: list[dict[str, Any]]
) -> Iterator[str]:
    first, *others = [finding["rule"] for finding in findings]
    if case.joint:
        # Two causes of like size: both are to be named, in any order.
        for rule in (case.expect, *case.allow):
            if rule not in (first, *others):
                yield f"{rule} was not found"
        others = [first, *others]
    elif first != case.expect:
        yield f"expected {case.expect} first, found {first}"
    everywhere = {finding["rule"] for workload in workloads for finding in workload["findings"]}
    for rule in sorted(everywhere & set(case.forbid)):
        yield f"{rule} is forbidden"
    for rule in others:
        if rule not in (case.expect, *case.allow, *case.forbid):
            yield f"{rule} is not allowed"


def _forbidden_advice(case: Case, findings: list[dict[str, Any]]) -> Iterator[str]:
    for finding in findings:
        summary = (finding.get("cure") or {}).get("summary", "")
        for text in case.forbid_text:
            if text in summary:
                yield f"the cure of {finding['rule']} says {text!r}"


def _wrong_place(case: Case, finding: dict[str, Any]) -> Iterator[str]:
    if not case.where.contains:
        return
    where = finding.get("where")
    if not where:
        yield "the finding has no place"
        return
    name, number = Path(where["file"]).name, where["line"]
    if name != case.where.file:
        yield f"the finding points to {name}, not to {case.where.file}"
        return
    lines = (case.scripts / name).read_text(encoding="utf-8").splitlines()
    line = lines[number - 1].strip() if 1 <= number <= len(lines) else ""
    if not any(text in line for text in case.where.contains):
        yield f"the finding points to line {number} ({line!r})"


def wrong_gain(predicted: Predicted | None, real: Gain | None) -> Iterator[str]:
    """Why a predicted gain is not close enough to the real one; nothing where it is."""
    if real is None:
        return
    if predicted is None:
        yield f"no gain predicted, real {real.ratio:.2f}x"
    elif not is_close(predicted.ratio, real.ratio):
        yield f"predicted {predicted.ratio:.2f}x, real {real.ratio:.2f}x"
