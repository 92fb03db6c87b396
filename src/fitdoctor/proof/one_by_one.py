"""Every cure by itself: those that do not help are dropped before the rest is proven together.

A cure may help only once another one is made (steps in one go help no one who waits for data). What
shows nothing alone is therefore tried again beside those that do help, and dropped only then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fitdoctor.intervals import Interval
from fitdoctor.proof.proof_verdict import LEAST_GAIN, Proof

Cure = TypeVar("Cure")


@dataclass(frozen=True)
class Sifted(Generic[Cure]):
    """The cures that help, in their order, and what each gave alone."""

    kept: tuple[Cure, ...] = ()
    dropped: tuple[Cure, ...] = ()
    alone: tuple[tuple[Cure, Proof], ...] = ()


def sift(
    cures: Sequence[Cure],
    alone: Callable[[Cure], Proof],
    added: Callable[[Sequence[Cure], Cure], Interval | None],
) -> Sifted[Cure]:
    """Measure cures one by one.

    Args:
        cures: What was to be applied together.
        alone: The proof of one cure by itself.
        added: What a cure gains beside others; None where that could not be measured.
    """
    proofs = [(cure, alone(cure)) for cure in cures]
    kept = [cure for cure, proof in proofs if proof.verdict == "proven"]
    for cure, proof in proofs:
        may_help = proof.verdict == "not-proven" and not proof.equivalence.is_different
        gained = added(kept, cure) if kept and may_help else None
        # Where nothing was measured, there is no reason to drop it.
        if proof.verdict == "invalid" or (gained is not None and gained.low > LEAST_GAIN):
            kept.append(cure)
    return Sifted(
        kept=tuple(cure for cure in cures if cure in kept),
        dropped=tuple(cure for cure in cures if cure not in kept),
        alone=tuple(proofs),
    )
