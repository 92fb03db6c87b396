"""A short trial of the cures before a whole training is run with them: what hurts is left out."""

from __future__ import annotations

import functools
from pathlib import Path

from fitdoctor.cures.patch import Patch
from fitdoctor.findings.finding import Finding
from fitdoctor.proof.cured import Examined, cured_side, line_of, patch_of, plain_side
from fitdoctor.proof.measured import Limits
from fitdoctor.proof.proving import Prover, Tell
from fitdoctor.units import gain

# A few pairs of short runs: enough to see what hurts, not to prove what helps. More than the
# three that are needed, since one may be disturbed.
TRIAL = Limits(precision=1.0, budget_s=120.0, max_runs=12, window_s=4.0)


def kept_cures(
    examined: Examined,
    patch: Patch,
    folder: Path,
    *,
    tell: Tell,
    unsafe: bool,
    pack: str | None = None,
) -> Patch:
    """The patch without the cures that make this training slower, or break it."""
    if _helps(examined, patch, folder, "all", tell):
        return patch
    of = functools.partial(patch_of, examined, unsafe=unsafe, pack=pack, in_process=True)
    kept: list[Finding] = []
    for number, applied in enumerate(patch.applied):
        finding = applied.finding
        # The only one was just tried.
        alone = len(patch.applied) == 1
        if not alone and _helps(examined, of([finding]), folder, f"one{number}", tell):
            kept.append(finding)
        else:
            tell(f"taken back: {line_of(finding)}")
    return of(kept)


def _helps(examined: Examined, patch: Patch, folder: Path, name: str, tell: Tell) -> bool:
    """Whether a trial shows no harm: a run that fails, or is slower, is harm."""
    prover = Prover(folder, TRIAL)
    measured = prover.measured(
        plain_side(examined.target), cured_side(examined.target, patch, name)
    )
    if measured.invalid or measured.ratio is None:
        tell(f"trial: {measured.invalid or 'no ratio'}")
        # On a noisy machine the examination decides; a script that fails is harm.
        return not measured.incomparable
    tell(f"trial: {gain(measured.ratio)}")
    return measured.ratio.high > 1.0 and measured.ratio.value >= 1.0
