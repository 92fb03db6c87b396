"""What an untimed run writes down for a proof: its batches, losses, outputs and weights."""

from __future__ import annotations

from dataclasses import dataclass

# Sums over samples are taken modulo this, so that they stay whole numbers of the contract.
SAMPLE_SPACE = 1 << 61


@dataclass(frozen=True)
class Batch:
    """The fingerprint of one batch."""

    digest: str
    rows: int | None = None
    total: int | None = None  # a sum over its samples that no order changes


@dataclass(frozen=True)
class Loss:
    """The loss after so many steps, in hexadecimal: every bit counts."""

    steps: int
    loss: str


@dataclass(frozen=True)
class Output:
    """The fingerprint of what a call returned."""

    digest: str


@dataclass(frozen=True)
class NoWeights:
    """Why no weights were kept."""

    reason: str


@dataclass(frozen=True)
class LearningEnd:
    """The run ended after so many steps."""

    steps: int


LearningRecord = Batch | Loss | Output | NoWeights | LearningEnd
# The kind under which each stands in the recording.
KINDS: dict[str, type[LearningRecord]] = {
    "batch": Batch,
    "loss": Loss,
    "output": Output,
    "no_weights": NoWeights,
    "learned": LearningEnd,
}
NAMES: dict[type[LearningRecord], str] = {kind: name for name, kind in KINDS.items()}
