"""How long validation waits for its first batch, and how long with its split moved forward."""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.probes.dataset_timing import Iterators
from fitdoctor.probes.experiment import Data
from fitdoctor.recorder.inputs import tf_edits
from fitdoctor.recorder.inputs.tf_data import walk


def validation_start(dataset: Any, iterators: Iterators) -> Data:
    """Nanoseconds to the first validation batch, as written and with the skip before the maps."""
    stages = walk(dataset)
    early, split = tf_edits.skipped_early(dataset, stages)
    place = split.place
    return {
        "first_ns": _first_ns(dataset, iterators),
        "early_first_ns": _first_ns(early, iterators),
        "skipped": split.settings.get("count"),
        "file": place.file if place else None,
        "line": place.line if place else None,
        "maps": [
            {"file": stage.place.file, "line": stage.place.line} if stage.place else None
            for stage in tf_edits.maps_above(stages, split)
        ],
    }


def _first_ns(dataset: Any, iterators: Iterators) -> int:
    begin = time.perf_counter()
    next(iterators.open(dataset))
    return int((time.perf_counter() - begin) * 1e9)
