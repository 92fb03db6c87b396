"""What a sampler saw of a loop, written into the recording."""

from __future__ import annotations

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.loop import LoopLines
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus.loop_lines import LoopSampler
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.recording import run_and_record


def record_lines(context: Context, sampler: LoopSampler, iterations: int) -> None:
    """The loop's lines, and what makes its data where no loader was seen."""
    name = recorded_name(LoopLines)
    seen = run_and_record(context, name, lambda: sampler.result(iterations))
    has_loader = context.loop is not None and context.loop.loader is not None
    if seen is None or seen.maker is None or has_loader:
        return
    file, line, function = seen.maker
    found = InputFacts(kind="generator", name=function, file=file, line=line)
    run_and_record(context, recorded_name(InputFacts), lambda: found)
