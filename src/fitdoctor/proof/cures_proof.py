"""A script against its cured text: examine, patch, prove, together and one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fitdoctor.contract.options import RunOptions, StepLimit
from fitdoctor.cures.choice import predicted
from fitdoctor.cures.patch import Patch
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval
from fitdoctor.proof.cured import (
    ExaminationFailed,
    Examined,
    applied_lines,
    cured_side,
    examine,
    examined_before,
    line_of,
    patch_of,
    plain_side,
)
from fitdoctor.proof.equivalence import not_checked
from fitdoctor.proof.measured import Limits, Measured
from fitdoctor.proof.nothing_to_try import nothing_to_try
from fitdoctor.proof.one_by_one import Sifted, sift
from fitdoctor.proof.process import run_side
from fitdoctor.proof.proof_verdict import Proof
from fitdoctor.proof.proving import Prover, Tell
from fitdoctor.proof.side import Side
from fitdoctor.proof.trial import kept_cures

EXAMINATION_S = 60.0
# A run that stores data may take this much longer than was predicted, and some seconds to train.
STORING_PATIENCE = 10.0
STORING_S = 60.0


@dataclass(frozen=True)
class ProvenCures:
    """The proof, and the changes that it is about."""

    proof: Proof
    patch: Patch
    examined: Examined


# Over 50 lines only by its arguments, which are the options of the command.
def prove_cures(
    target: Side,
    folder: Path,
    *,
    limits: Limits,
    unsafe: bool,
    each: bool,
    trial: bool,
    may_differ: bool,
    check: bool,
    tell: Tell,
    recording: Path | None = None,
    pack: str | None = None,
    check_each: bool = False,
) -> ProvenCures:
    """Examine a script and prove what its cures gain.

    Args:
        target: the script.
        folder: for recordings.
        limits: of the proof.
        unsafe: also apply cures that may change numbers or order.
        each: also prove every cure by itself, and drop those that do not help.
        trial: leave out what a trial shows to hurt, as `boost` does.
        may_differ: whether other learning may be proven.
        check: whether to compare data and learning.
        tell: progress.
        recording: an examination of the same script, if there is one already.
        pack: the folder for cures that store data, which the cured side writes.
        check_each: also drop a cure that, by itself, trains differently.
    """
    if recording is not None:
        examined = examined_before(target, recording)
    else:
        tell(f"examining {target.target}")
        examined = examine(target, folder, budget_s=EXAMINATION_S)

    def of(findings: Sequence[Finding]) -> Patch:
        return patch_of(examined, findings, unsafe=unsafe, pack=pack, in_process=trial)

    patch = of(examined.findings)
    _store(examined, patch, folder, tell)
    if trial and patch:
        patch = kept_cures(examined, patch, folder, tell=tell, unsafe=unsafe, pack=pack)
    if not patch:
        return ProvenCures(_nothing(examined, patch), patch, examined)
    for line in applied_lines(patch):
        tell(f"cure: {line}")
    prover = Prover(folder, limits, tell)
    one_by_one = each and len(patch.applied) > 1
    sifted = Sifted[Finding]()
    if one_by_one:
        sifted = _sifted(prover, examined, patch, of, tell, check=check_each)
    # Where nothing helps, that is what the proof of all of them says.
    helping = of(sifted.kept) if sifted.kept and sifted.dropped else patch
    proof = replace(
        _one(prover, examined, helping, may_differ=may_differ, check=check),
        each=tuple((line_of(finding), one) for finding, one in sifted.alone),
        dropped=tuple(map(line_of, sifted.dropped)),
    )
    return ProvenCures(proof, helping, examined)


def _sifted(
    prover: Prover,
    examined: Examined,
    patch: Patch,
    of: Callable[[Sequence[Finding]], Patch],
    tell: Tell,
    *,
    check: bool,
) -> Sifted[Finding]:
    """Each cure alone, and beside the others where it shows nothing alone."""

    def alone(finding: Finding) -> Proof:
        tell(f"alone: {line_of(finding)}")
        return _one(prover, examined, of([finding]), may_differ=not check, check=check)

    def added(others: Sequence[Finding], finding: Finding) -> Interval | None:
        tell(f"beside the others: {line_of(finding)}")
        without = replace(cured_side(examined.target, of(others)), name="A")
        return prover.measured(without, cured_side(examined.target, of([*others, finding]))).ratio

    sifted = sift([one.finding for one in patch.applied], alone, added)
    for finding in sifted.dropped:
        tell(f"dropped, since it does not help: {line_of(finding)}")
    return sifted


def _store(examined: Examined, patch: Patch, folder: Path, tell: Tell) -> None:
    """Let the cured script write the data that it reads later: that happens once, untimed."""
    stored = [edit for one in patch.applied if (edit := one.finding.cure.packing) is not None]
    if not stored:
        return
    for edit in stored:
        tell(f"storing data: the cured script {edit.cost()}")
    options = RunOptions(probes=False, limit=StepLimit(1, STORING_S))
    longest = STORING_S + STORING_PATIENCE * sum(edit.seconds for edit in stored)
    side = cured_side(examined.target, patch, "stored")
    run = run_side(side, folder, options=options, limit_s=longest)
    if run.failed:
        raise ExaminationFailed(
            f"{side.target} failed while it stored its data: {run.how}",
            expected="a pipeline whose elements can be stored",
            advice="without --pack, the other cures are proven",
        )


def _one(
    prover: Prover, examined: Examined, patch: Patch, *, may_differ: bool, check: bool
) -> Proof:
    findings = [one.finding for one in patch.applied]
    is_unsafe = any(finding.cure.safety == "unsafe" for finding in findings)
    return prover.prove(
        plain_side(examined.target),
        cured_side(examined.target, patch),
        cure="unsafe" if is_unsafe else "safe",
        may_differ=may_differ,
        predicted=predicted(examined.diagnosis, findings),
        cures=applied_lines(patch),
        check=check,
    )


def _nothing(examined: Examined, patch: Patch) -> Proof:
    unchecked = not_checked("nothing changed")
    reason, advice = nothing_to_try(examined, patch)
    return Proof("not-proven", reason, Measured(), unchecked, advice=advice)
