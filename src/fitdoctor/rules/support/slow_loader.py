"""What a slow loader does, where several rules have to know."""

from __future__ import annotations

from typing import NamedTuple

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import (
    AugmentationInLoader,
    GeneratorAlone,
    Hdf5ReadCost,
)

# Fewer busy cores than this while loading alone: the loader waits rather than works.
BUSY_CORES = 0.6
# Reading from HDF5 takes at least this share of loading ...
READ_SHARE = 0.5
# ... and as many rows in one block at most this share of the scattered reads.
CONTIGUOUS_SHARE = 1 / 3
# Random Keras layers take at least this share of making a batch ...
RANDOM_SHARE = 1 / 3
# ... and in the model at most this share of what they take in the loader.
WORTH_MOVING = 0.5


def only_waits(loader: Loader) -> bool:
    """Whether the CPU is idle while a batch is made."""
    return loader.busy_cores < BUSY_CORES


def is_scattered_hdf5(view: View) -> bool:
    """Whether reading scattered rows is what loading waits for."""
    read, loader = view.found(Hdf5ReadCost), view.loader
    if read is None or loader is None:
        return False
    is_most = read.ns >= READ_SHARE * loader.ns.value
    return is_most and read.contiguous_ns <= CONTIGUOUS_SHARE * read.ns


class Crossing(NamedTuple):
    """Elements that come one by one from a Python generator into a pipeline."""

    stage: StageCost
    per_batch: float
    element_ns: float  # in the pipeline
    own_ns: float  # the generator by itself


def crossing_of(view: View) -> Crossing | None:
    """None where there is no generator, or one of the two was not timed."""
    alone = view.found(GeneratorAlone)
    stage = next((stage for stage in view.stages if stage.op == "from_generator"), None)
    if alone is None or stage is None or stage.ns is None or not stage.per_batch:
        return None
    return Crossing(stage, stage.per_batch, stage.ns / stage.per_batch, alone.ns)


def layers_in_loader(view: View) -> AugmentationInLoader | None:
    """Random Keras layers that take much of making a batch, and little of it in the model.

    On torch, which starts operations one by one in the model as well, nothing may be gained.
    """
    found, left = view.found(AugmentationInLoader), view.left_by_change("augmented")
    if found is None or left is None or view.frozen is None or found.share < RANDOM_SHARE:
        return None
    in_model = view.frozen.value * (left.value - 1.0)
    return found if in_model < WORTH_MOVING * found.layers_ns else None
