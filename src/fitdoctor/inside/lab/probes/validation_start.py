"""How long validation waits for its first batch, and how long with its split moved forward."""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

from fitdoctor.contract.evidence.pipeline import ValidationStart
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.seams.inputs import tf_edits
from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.inputs.tf_stages import walk

# Batches after the first come at a steady pace: so many of them are enough.
MOST_BATCHES = 50
LONGEST_NS = 1_000_000_000


class SplitBeforeMaps(Probe[ValidationStart]):
    phase = Phase.CALLS
    after = ("array_conversion",)

    def wanted(self, context: Context) -> bool:
        data, tensorflow = _validation_data(context), sys.modules.get("tensorflow")
        if tensorflow is None or not isinstance(data, tensorflow.data.Dataset):
            return False
        return not one_shot_source(data)

    def run(self, context: Context) -> ValidationStart:
        iterators = Iterators()
        context.on_close(iterators.close)
        dataset = _validation_data(context)
        stages = walk(dataset)
        early, split = tf_edits.skipped_early(dataset, stages)
        place = split.place
        as_written, earlier = _pass(dataset, iterators), _pass(early, iterators)
        return ValidationStart(
            first_ns=as_written[0],
            early_first_ns=earlier[0],
            pass_ns=as_written[1],
            early_pass_ns=earlier[1],
            skipped=split.settings.get("count"),
            file=place.file if place else None,
            line=place.line if place else None,
            maps=tuple(stage.where() for stage in tf_edits.maps_above(stages, split)),
        )


def _pass(dataset: Any, iterators: Iterators) -> tuple[int, int]:
    """Nanoseconds to the first batch, and to the last one of at most `MOST_BATCHES`."""
    begin = time.perf_counter_ns()
    batches = iterators.open(dataset)
    next(batches)
    first = time.perf_counter_ns() - begin
    for _ in itertools.islice(batches, MOST_BATCHES - 1):
        if time.perf_counter_ns() - begin > first + LONGEST_NS:
            break
    return first, time.perf_counter_ns() - begin


def _validation_data(context: Context) -> Any:
    return context.fit.arguments.get("validation_data")
