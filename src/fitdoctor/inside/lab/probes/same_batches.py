"""Whether an index of a PyDataset gives the same batch again, so that batches can be kept."""

from __future__ import annotations

import sys
import time
from typing import Any

from fitdoctor.contract.evidence.loading import SameBatches
from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.slow_input import slow_adapter, waits_for_more_threads
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.proof.fingerprint import fingerprint
from fitdoctor.inside.seams.backends.randomness import global_state
from fitdoctor.inside.seams.inputs.second_reader import number_of_batches

# Batches that are made twice, to see whether they are the same.
MOST_COMPARED, COMPARED_S = 32, 1.0
# They may give an index another batch in the next epoch.
_HOOKS = ("on_epoch_begin", "on_epoch_end")


def same_batches(dataset: Any) -> SameBatches:
    """Make some batches twice, and see what speaks against keeping them."""
    base = sys.modules["keras"].utils.PyDataset
    length = number_of_batches(dataset)
    state, begin = global_state(), time.perf_counter()
    same, compared = True, 0
    for index in range(0, length, max(1, length // MOST_COMPARED)):
        one, other = fingerprint(dataset[index]), fingerprint(dataset[index])
        same = same and one is not None and one == other
        compared += 1
        if not same or time.perf_counter() - begin > COMPARED_S:
            break
    owner = type(dataset)
    return SameBatches(
        same=same and global_state() == state,
        compared=compared,
        length=length,
        hooks=tuple(name for name in _HOOKS if getattr(owner, name) is not getattr(base, name)),
        hashable=owner.__hash__ is not None,
        available_bytes=available_bytes(),
    )


class MakeTwice(Probe[SameBatches]):
    phase = Phase.INPUT
    after = ("trial_threads",)
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        adapter = slow_adapter(context, "PyDataset")
        return adapter is not None and not waits_for_more_threads(context, adapter.py_dataset)

    def run(self, context: Context) -> SameBatches:
        return same_batches(context.adapter.py_dataset)
