"""A script against its cured text: examine, patch, prove, together and one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fitdoctor.cures.patch import Patch
from fitdoctor.proof.cured import (
    ExaminationFailed,
    Examined,
    applied_lines,
    class_of,
    cured_side,
    examine,
    examined_before,
    line_of,
    patch_of,
    plain_side,
    predicted_gain,
)
from fitdoctor.proof.equivalence import not_checked
from fitdoctor.proof.measure import Limits
from fitdoctor.proof.process import run_side
from fitdoctor.proof.prove import Prover, Tell
from fitdoctor.proof.side import Side
from fitdoctor.proof.trial import kept_cures
from fitdoctor.proof.verdict import Proof

EXAMINATION_S = 60.0
# A run that stores data may take this much longer than was predicted, and some seconds to train.
STORING_PATIENCE = 10.0
STORING_S = 60.0


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
) -> Proof:
    """Examine a script and prove what its cures gain.

    Args:
        target: the script.
        folder: for recordings.
        limits: of the proof.
        unsafe: also apply cures that may change numbers or order.
        each: also prove every cure by itself.
        trial: leave out what a trial shows to hurt, as `boost` does.
        may_differ: whether other learning may be proven.
        check: whether to compare data and learning.
        tell: progress.
        recording: an examination of the same script, if there is one already.
        pack: the folder for cures that store data, which the cured side writes.
    """
    if recording is not None:
        examined = examined_before(target, recording)
    else:
        tell(f"examining {target.target}")
        examined = examine(target, folder, budget_s=EXAMINATION_S)
    patch = patch_of(examined, examined.findings, unsafe=unsafe, pack=pack)
    _store(examined, patch, folder, tell)
    if trial and patch:
        patch = kept_cures(examined, patch, folder, tell=tell, unsafe=unsafe, pack=pack)
    if not patch:
        return Proof("not-proven", _nothing(examined, patch), None, not_checked("nothing changed"))
    for line in applied_lines(patch):
        tell(f"cure: {line}")
    prover = Prover(folder, limits, tell)
    choices = {"may_differ": may_differ, "check": check}
    proof = _one(prover, examined, patch, "B", **choices)
    if not each or len(patch.applied) < 2:
        return proof
    alone = []
    for number, applied in enumerate(patch.applied, 1):
        tell(f"alone: {line_of(applied.finding)}")
        single = patch_of(examined, [applied.finding], unsafe=unsafe, pack=pack)
        found = _one(prover, examined, single, f"B{number}", may_differ=may_differ, check=False)
        alone.append((line_of(applied.finding), found))
    return replace(proof, each=tuple(alone))


def _store(examined: Examined, patch: Patch, folder: Path, tell: Tell) -> None:
    """Let the cured script write the data that it reads later: that happens once, untimed."""
    stored = [edit for one in patch.applied if (edit := one.finding.cure.packing) is not None]
    if not stored:
        return
    for edit in stored:
        tell(f"storing data: the cured script {edit.cost()}")
    options = {"probes": False, "limit": {"steps": 1, "seconds": STORING_S}}
    longest = STORING_S + STORING_PATIENCE * sum(edit.seconds for edit in stored)
    run = run_side(
        cured_side(examined.target, patch, "stored"), folder, options=options, limit_s=longest
    )
    if run.failed:
        raise ExaminationFailed(
            f"{examined.target.target} failed while it stored its data: "
            f"{run.error or f'exit code {run.exit_code}'}",
            expected="a pipeline whose elements can be stored",
            advice="without --pack, the other cures are proven",
        )


def _one(
    prover: Prover, examined: Examined, patch: Patch, name: str, *, may_differ: bool, check: bool
) -> Proof:
    return prover.prove(
        plain_side(examined.target),
        cured_side(examined.target, patch, name),
        cure=class_of(patch),
        may_differ=may_differ,
        predicted=predicted_gain(examined, patch),
        cures=applied_lines(patch),
        check=check,
    )


def _nothing(examined: Examined, patch: Patch) -> str:
    """Why there is nothing to prove."""
    if not examined.findings:
        verdicts = ", ".join(sorted({w.verdict for w in examined.diagnosis.workloads}))
        return f"nothing was found that could be cured ({verdicts})"
    reasons = [f"{one.finding.rule}: {one.reason}" for one in patch.declined]
    return f"no cure could be applied: {'; '.join(reasons) or 'none has an edit'}"
