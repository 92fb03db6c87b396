"""A short trial of the cures before a whole training is run with them: what hurts is left out."""

from __future__ import annotations

from pathlib import Path

from fitdoctor.cures.patch import Applied, Patch
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
    if len(patch.applied) == 1:
        tell(f"taken back: {line_of(patch.applied[0].finding)}")
        return patch_of(examined, [], unsafe=unsafe, in_process=True)
    kept: list[Applied] = []
    for number, applied in enumerate(patch.applied):
        single = patch_of(examined, [applied.finding], unsafe=unsafe, pack=pack, in_process=True)
        if _helps(examined, single, folder, f"one{number}", tell):
            kept.append(applied)
        else:
            tell(f"taken back: {line_of(applied.finding)}")
    helping = [one.finding for one in kept]
    return patch_of(examined, helping, unsafe=unsafe, pack=pack, in_process=True)


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
