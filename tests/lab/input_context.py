"""A context for the probes of input, without a fit; and a bench without a dataset."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus.ablation import Ablation
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Subject
from fitdoctor.inside.seams.inputs.tf_stages import Stage

MS = 1_000_000


def alone(ms: float, *, cores: float = 1.0, first_ms: float = 0.0) -> LoaderAlone:
    """A loader that takes so long for a batch."""
    return LoaderAlone(ns=(ms * MS,), own_cores=cores, first_batch_ns=int(first_ms * MS))


def fit_context(
    *found: object,
    kind: str | None = None,
    adapter: Any = None,
    step_ms: float | None = 10,
    period_ms: float | None = 100,
    backend: Any = None,
    batch: Any = None,
    **call: Any,
) -> Context:
    """A fit that loses 90 ms of each step, with what was found so far."""
    details = {
        "arguments": {},
        "epochs": 1,
        "steps": 100,
        "validation": 0,
        "step_total": 100,
        "source": None,
        "model": SimpleNamespace(run_eagerly=False),
        "epoch_iterator": SimpleNamespace(data_adapter=adapter),
        **call,
    }
    context = Context(
        recorder=SimpleNamespace(),  # type: ignore[arg-type]
        backend=backend or SimpleNamespace(name="tensorflow"),
        subject=Subject.FIT,
        workload=SimpleNamespace(number=1, steps=0),  # type: ignore[arg-type]
        call=SimpleNamespace(**details),  # type: ignore[arg-type]
        period_ns=None if period_ms is None else period_ms * MS,
        batch=batch,
    )
    for one in (*found, *([InputFacts(kind)] if kind else [])):
        context.keep(one, recorded_name(type(one)))
    if step_ms is not None:
        context.keep(FrozenBatch(ns=(step_ms * MS,)), recorded_name(FrozenBatch))
    return context


def stage(op: str, **more: Any) -> dict[str, Any]:
    """A stage that `bench` numbers; settings and marks by name."""
    return {"op": op, **more}


def bench(*given: dict[str, Any] | str, ms: dict[int, float], **more: Any) -> PipelineBench:
    """A chain of stages, the last one first; `ms` is what the chain takes up to each, per batch.

    Further words: `cores` of the whole, `per_batch` by number.
    """
    found = PipelineBench.__new__(PipelineBench)
    found.dataset, found.iterators = None, Iterators()
    ablation = found.ablation = Ablation.__new__(Ablation)
    ablation.stages = []
    for number, one in enumerate(given):
        marks = {"op": one} if isinstance(one, str) else dict(one)
        settings = {
            name: marks.pop(name)
            for name in ("batch_size", "buffer_size", "count")
            if name in marks
        }
        plain: dict[str, Any] = dict.fromkeys(("python", "random", "reorders"), False)
        inputs = (number + 1,) if number < len(given) - 1 else ()
        ablation.stages.append(
            Stage(
                **{
                    "dataset": SimpleNamespace(),
                    "place": None,
                    "parallel": None,
                    **plain,
                    **marks,
                    "number": number,
                    "inputs": inputs,
                    "settings": settings,
                }
            )
        )
    cores = more.get("cores", 1.0)
    ablation.per_batch = {number: 1.0 for number in ms} | more.get("per_batch", {})
    ablation.times = {
        number: SimpleNamespace(  # type: ignore[misc]
            ns=one * MS / ablation.per_batch[number], cores=cores, first_ns=0, element_bytes=None
        )
        for number, one in ms.items()
    }
    return found
