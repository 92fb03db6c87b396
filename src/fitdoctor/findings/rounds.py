"""What cured training does only now and then: a proof has to see whole rounds of it.

Steps between two validations are not the training with a validation every 5 epochs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fitdoctor.findings.edits import (
    CACHE,
    AppendCall,
    Edit,
    LongerEpochs,
    Memoise,
    SetKeyword,
    SkipBatches,
)

# Keywords under which something is done once every so many epochs.
_EVERY_EPOCHS = frozenset({"validation_freq"})
# Keywords that can say "epoch", which is once for each.
_ONCE_AN_EPOCH = frozenset({"save_freq", "update_freq"})


@dataclass(frozen=True)
class Rounds:
    """How long one round is: the larger of so many steps and so many epochs."""

    steps: int = 1
    epochs: int = 0
    settles: int = 0  # epochs until it is what it stays: a cache is filled in the first
    epoch_steps: int | None = None  # where it is known, though no run may come to an epoch's end

    def in_steps(self, epoch_steps: int | None) -> int:
        """The length in steps, where an epoch has so many; unknown epochs do not count."""
        return max(self.steps, self.epochs * (epoch_steps or 0))


NO_ROUNDS = Rounds()


def rounds_of(edits: Iterable[Edit]) -> Rounds:
    """The longest round of a cure's edits."""
    steps, epochs, settles = 1, 0, 0
    for edit in edits:
        if isinstance(edit, SkipBatches):
            steps = max(steps, edit.every)
        elif isinstance(edit, LongerEpochs):
            epochs = max(epochs, edit.times)
        elif isinstance(edit, SetKeyword):
            epochs = max(epochs, _epochs(edit))
        elif isinstance(edit, Memoise) or (isinstance(edit, AppendCall) and edit.text == CACHE):
            settles = 1
    return Rounds(steps, epochs, settles)


def _epochs(edit: SetKeyword) -> int:
    if edit.keyword in _EVERY_EPOCHS and edit.value.isdigit():
        return int(edit.value)
    return 1 if edit.keyword in _ONCE_AN_EPOCH and edit.value.strip("\"'") == "epoch" else 0
