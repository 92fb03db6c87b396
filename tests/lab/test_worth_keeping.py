"""When the output of preprocessing is worth a trial of a cache."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fitdoctor.inside.lab.apparatus.cache_point import CachePoint
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench

MS = 1e6


@pytest.mark.parametrize(
    ("batch_ms", "cores", "work_ms", "is_worth"),
    [
        (100, 1.8, 11, False),  # a busy pipeline: of all it does, too little
        (100, 1.8, 13, True),
        (100, 0.3, 7, False),  # reads that wait: too little beside the waiting itself
        (100, 0.8, 11, False),  # and beside other work of the CPU's
        (100, 0.3, 11, True),  # what is left once the reads run side by side
        (100, 0.02, 1, False),  # all of the work, and still nothing beside the waiting
    ],
)
def test_work_is_weighed_against_what_will_remain(
    batch_ms: float, cores: float, work_ms: float, is_worth: bool
) -> None:
    bench = PipelineBench.__new__(PipelineBench)  # without a dataset
    bench.ablation = SimpleNamespace(  # type: ignore[assignment]
        stages=[SimpleNamespace(op="map")],
        times={0: SimpleNamespace(ns=batch_ms * MS, cores=cores)},
    )
    assert CachePoint(bench).is_worth_keeping(work_ms * MS) is is_worth
