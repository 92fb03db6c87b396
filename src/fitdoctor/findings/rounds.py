"""What cured training does only now and then: a proof has to see whole rounds of it.

Steps between two validations are not the training with a validation every 5 epochs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Rounds:
    """How long one round is: the larger of so many steps and so many epochs."""

    steps: int = 1
    epochs: int = 0
    settles: int = 0  # epochs until it stays the same: a cache is filled in the first
    epoch_steps: int | None = None  # where it is known, even if no run reaches an epoch's end

    def in_steps(self, epoch_steps: int | None) -> int:
        """The length in steps, where an epoch has so many; unknown epochs do not count."""
        return max(self.steps, self.epochs * (epoch_steps or 0))


NO_ROUNDS = Rounds()


def longest(rounds: Iterable[Rounds]) -> Rounds:
    """The round that holds one of each: what all edits of a cure need together."""
    found = [NO_ROUNDS, *rounds]
    return Rounds(
        max(one.steps for one in found),
        max(one.epochs for one in found),
        max(one.settles for one in found),
    )
