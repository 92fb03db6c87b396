"""What the Python generator of a `from_generator` takes per element by itself."""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.contract.evidence.loading import GeneratorAlone
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.inputs.tf_pipeline import made_of

ALONE_S = 0.4


def generator_alone(dataset: Any) -> GeneratorAlone:
    """Read the user's generator in Python, without tf.data."""
    made = made_of(dataset)
    if made is None or "generator" not in made.arguments:
        raise NotAvailable("the generator was not seen")
    generator = made.arguments["generator"]
    args = made.arguments.get("args") or ()
    code = getattr(generator, "__code__", None)
    wall, cpu, count = time.perf_counter(), time.thread_time(), 0
    for _ in generator(*args):
        count += 1
        if time.perf_counter() - wall > ALONE_S:
            break
    if not count:
        raise NotAvailable("the generator gave nothing")
    return GeneratorAlone(
        ns=round((time.perf_counter() - wall) / count * NS_PER_S),
        cpu_ns=round((time.thread_time() - cpu) / count * NS_PER_S),
        count=count,
        file=code.co_filename if code else None,
        line=code.co_firstlineno if code else None,
    )


class ReadGenerator(PipelineProbe[GeneratorAlone]):
    after = ("trial_arrays",)
    needs_whole = False

    def is_worth(self, bench: PipelineBench) -> bool:
        return bench.timed_source("from_generator") is not None

    def tried(self, bench: PipelineBench) -> GeneratorAlone:
        source = bench.timed_source("from_generator")
        if source is None:
            raise NotAvailable("the pipeline has no generator")
        return generator_alone(source.dataset)
