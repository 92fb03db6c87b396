"""Recordings made by hand from the contract's own dataclasses: exact numbers, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.loading import InputFacts, LoaderAlone, StageFacts
from fitdoctor.contract.evidence.model import ChangedCopy, Layers, LayerTime, MachineCeiling
from fitdoctor.contract.evidence.pipeline import ChangedPipeline, StageTime, StageTimes
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.evidence.timing import Stacks, Timed
from fitdoctor.contract.records import (
    Accelerator,
    CallbackTotal,
    CallRow,
    Event,
    EventDetail,
    Header,
    KerasFacts,
    Machine,
    ProbeRun,
    RecordedWorkload,
    Recording,
    Script,
    StepBlock,
    WorkloadDetail,
)
from fitdoctor.contract.results import Evidence, recorded_name

MS = 1_000_000
TimedKind = TypeVar("TimedKind", bound=Timed)
ChangedKind = TypeVar("ChangedKind", bound=ChangedPipeline)
# A result, or a result of a family with its key: ("float32", ChangedStep(...)).
Found = object


def noisy(ns: float, count: int = 8) -> tuple[float, ...]:
    """Windows around one value, with one per cent of noise."""
    return tuple(ns * (1 + 0.01 * ((i % 3) - 1)) for i in range(count))


def timed(kind: type[TimedKind], ns: float, count: int = 8, **more: Any) -> TimedKind:
    """A result whose windows lie around one value: `timed(FrozenBatch, 2 * MS)`."""
    return kind(ns=noisy(ns, count), units=more.pop("units", 100), **more)


def loader(ns: float, *, cores: float = 1.0, user_share: float = 0.0, **more: Any) -> LoaderAlone:
    """The loader alone."""
    hot = (("/user/data.py", 12, "__getitem__", 90),) if user_share else ()
    stacks = Stacks(
        samples=100,
        user_share=user_share,
        lock_share=more.pop("lock_share", 0.0),
        lines=hot,
        functions=hot,
    )
    return timed(LoaderAlone, ns, own_cores=cores, stacks=stacks, bytes=1000, **more)


def tried(kind: type[ChangedKind], ns: float, as_written: float, **more: Any) -> ChangedKind:
    """A changed pipeline that was timed beside the pipeline as written."""
    return timed(kind, ns, as_written=noisy(as_written), **more)


def stage(op: str, n: int, **more: Any) -> StageFacts:
    """One stage of a pipeline; it reads the next number unless told otherwise."""
    facts: dict[str, Any] = {"inputs": (n + 1,), "file": "/user/data.py", "line": 100 + n}
    return StageFacts(n=n, op=op, **{**facts, **more})


def probed(found: Iterable[Found]) -> tuple[dict[str, ProbeRun], Evidence]:
    """Results as a workload keeps them; of a family, each with its key: (key, result)."""
    by_name = {}
    for one in found:
        key, result = one if isinstance(one, tuple) else ("", one)
        by_name[recorded_name(type(result), key)] = result
    return {name: ProbeRun(name, "ok") for name in by_name}, Evidence(by_name)


def with_found(workload: RecordedWorkload, *found: Found) -> RecordedWorkload:
    """The same workload with more results; a result of the same name is replaced."""
    runs, evidence = probed(found)
    return replace(
        workload,
        probes={**workload.probes, **runs},
        evidence=Evidence({**workload.evidence.by_name, **evidence.by_name}),
    )


def without(workload: RecordedWorkload, kind: type, key: str = "") -> RecordedWorkload:
    """The same workload without a result."""
    name = recorded_name(kind, key)
    return replace(
        workload,
        probes={n: run for n, run in workload.probes.items() if n != name},
        evidence=Evidence({n: one for n, one in workload.evidence.by_name.items() if n != name}),
    )


def slow_pipeline(
    *stages: StageFacts,
    loader_ns: float = 30 * MS,
    frozen: float = 2 * MS,
    cores: float = 1.0,
    rows: Iterable[StageTime] = (),
    found: Iterable[Found] = (),
    detail: dict[str, Any] | None = None,
    **more: Any,
) -> RecordedWorkload:
    """A fit that waits for its tf.data pipeline; frozen steps are short."""
    base = fit_workload(
        period=round(max(loader_ns, frozen)),
        step=round(frozen),
        wait=round(max(0.0, loader_ns - frozen)),
        found=(
            timed(FrozenBatch, frozen),
            loader(loader_ns, cores=cores),
            InputFacts(kind="tf.data", stages=stages),
            StageTimes(rows=tuple(rows)),
        ),
        detail={"epochs": 10, **(detail or {})},
        **more,
    )
    return with_found(base, *found)


def fit_workload(
    *,
    period: int = 10 * MS,
    step: int = 9 * MS,
    wait: int | None = 0,
    callbacks: int = 0,
    steps: int = 200,
    found: Iterable[Found] = (),
    events: tuple[Event, ...] = (),
    callback_totals: tuple[CallbackTotal, ...] = (),
    kind: str = "fit",
    detail: dict[str, Any] | None = None,
    others: float | None = 0.0,
) -> RecordedWorkload:
    """One call with equal steps."""
    times = tuple(1_000_000_000 + i * period for i in range(steps))
    block = StepBlock(
        call=0,
        epoch=0,
        executions=1,
        t=times,
        step=(step,) * steps,
        wait=(wait,) * steps,
        callbacks=(callbacks,) * steps,
        graph_wait=None,
        others_cores=others,
        after_pause=False,
    )
    call = CallRow(
        t=times[0] - 5 * MS,
        dur=period * steps + 5 * MS,
        steps=steps,
        start_up=5 * MS,
        validation=0,
        epoch_callbacks=0,
        batch_callbacks=callbacks * steps,
        step=step * steps,
        wait=None if wait is None else wait * steps,
        epochs=1,
    )
    runs, evidence = probed(found)
    return RecordedWorkload(
        number=1,
        kind=kind,
        file="/user/train.py",
        line=88,
        t=times[0],
        parent=None,
        detail=WorkloadDetail(**{"backend": "tensorflow", **(detail or {})}),
        blocks=(block,),
        calls=() if kind == "loop" else (call,),
        callbacks=callback_totals,
        events=events,
        probes=runs,
        evidence=evidence,
    )


def restarted_epochs(
    first_wait: int,
    *,
    epochs: int = 4,
    steps: int = 40,
    backend: str = "torch",
    ending: int = 0,
    found: Iterable[Found] = (),
) -> RecordedWorkload:
    """Steps of 10 ms, and before each epoch but the first a wait for its first batch."""
    base = fit_workload(detail={"backend": backend, "epochs": epochs}, found=found)
    blocks, t = [], 10**9
    for epoch in range(epochs):
        if epoch:
            t += first_wait + ending
        times = tuple(t + i * 10 * MS for i in range(steps))
        t = times[-1] + 10 * MS
        waits = (first_wait if epoch else 0, *(0,) * (steps - 1))
        blocks.append(
            replace(
                base.blocks[0],
                epoch=epoch,
                t=times,
                step=(9 * MS,) * steps,
                wait=waits,
                callbacks=(0,) * steps,
            )
        )
    call = replace(base.calls[0], dur=t - 10**9 + 5 * MS, steps=steps * epochs, epochs=epochs)
    return replace(base, blocks=tuple(blocks), calls=(call,))


def event(name: str, t: int, dur: int, /, **detail: Any) -> Event:
    """Something that happened in the first call."""
    return Event(name, t, dur, 0, 0, EventDetail(**detail))


def short_epochs(
    *,
    steps: int = 2,
    epochs: int = 100,
    gap: int = 30 * MS,
    validation: int = 30 * MS,
    validation_steps: int = 1,
) -> RecordedWorkload:
    """Epochs of a few steps of 2 ms, with a gap and a validation pass after each."""
    base = fit_workload(detail={"epochs": epochs})
    blocks, events, t = [], [], 10**9
    for epoch in range(epochs):
        times = tuple(t + i * 2 * MS for i in range(steps))
        none = (0,) * steps
        block = replace(base.blocks[0], epoch=epoch, t=times, step=(2 * MS,) * steps)
        blocks.append(replace(block, wait=none, callbacks=none))
        t += steps * 2 * MS
        if validation:
            events.append(event("validation", t, validation, steps=validation_steps))
        t += validation + gap
    call = replace(
        base.calls[0],
        dur=t - 10**9 + 5 * MS,
        steps=steps * epochs,
        validation=validation * epochs,
        step=2 * MS * steps * epochs,
        wait=0,
        epochs=epochs,
    )
    return replace(base, blocks=tuple(blocks), calls=(call,), events=tuple(events))


def call_group(
    *,
    kind: str = "predict",
    period: int = 42 * MS,
    duration: int = 40 * MS,
    step: int = MS,
    calls: int = 60,
    steps_per_call: int = 1,
    found: Iterable[Found] = (),
) -> RecordedWorkload:
    """Many calls from one line."""
    rows = tuple(
        CallRow(
            t=10**9 + i * period,
            dur=duration,
            steps=steps_per_call,
            start_up=duration - step,
            validation=0,
            epoch_callbacks=0,
            batch_callbacks=0,
            step=step,
            wait=0,
            epochs=1,
        )
        for i in range(calls)
    )
    runs, evidence = probed(found)
    return RecordedWorkload(
        number=1,
        kind=kind,
        file="/user/train.py",
        line=30,
        t=10**9,
        parent=None,
        calls=rows,
        probes=runs,
        evidence=evidence,
    )


def recording(
    *workloads: RecordedWorkload,
    backend: str = "tensorflow",
    cpus: int = 2,
    events: tuple[Event, ...] = (),
) -> Recording:
    """A recording of these workloads on a quiet machine."""
    numbered = tuple(
        w if w.number == i + 1 else replace(w, number=i + 1) for i, w in enumerate(workloads)
    )
    return Recording(
        path="synthetic.rec",
        header=Header(fitdoctor="0.1.0", script=Script(path="train.py")),
        machine=Machine(cpus=cpus, affinity=cpus),
        keras=KerasFacts(version="3.15.1", backend=backend),
        workloads=numbered,
        events=events,
        samples=(),
        notes=(),
        own_cost_ns=1500.0,
        examined=True,
        ended=True,
        exit_code=0,
        exit_signal=None,
        broken_lines=0,
    )


def view(workload: RecordedWorkload, **more: Any) -> View:
    """The view that rules get."""
    found = view_of(recording(workload, **more), workload)
    assert found is not None
    return found


def layer(name: str, ns: float, *, alone: float | None = None, **more: Any) -> LayerTime:
    """A layer with next to no arithmetic; `alone` is one call of it, forward and backward."""
    facts: dict[str, Any] = {"type": "Dense", "parameters": 1000, "flops": 1e6, "bytes": 1e5}
    by_itself = timed(Timed, alone) if alone is not None else None
    return LayerTime(name=name, ns=round(ns), alone=by_itself, **{**facts, **more})


def model_view(*layers: LayerTime, step: int = 20 * MS, found: Iterable[Found] = ()) -> View:
    """A fit whose time is its step, with these layers, on a machine of 50 GFLOP/s."""
    base: list[Found] = [
        timed(FrozenBatch, step),
        MachineCeiling(flops_per_s=50e9, bytes_per_s=10e9),
    ]
    if layers:
        base.append(Layers(layers, without_fixed_price=True))
    return view(fit_workload(period=step, step=step, found=[*base, *found]))


def copies(as_is: float, **changed: float) -> list[Found]:
    """Copies of the model: one as it is, and one per change, as in `half=12 * MS`."""
    tried = {name: timed(ChangedCopy, ns, first_ns=10**9) for name, ns in changed.items()}
    return [("as_is", timed(ChangedCopy, as_is)), *tried.items()]


def gpu_workload(*found: Found) -> RecordedWorkload:
    """Steps of 2 ms on a GPU, fed with arrays: 0.5 ms of it computing, 1.5 ms moving the batch."""
    device = Device(
        kind="gpu",
        name="H200",
        transfer_ns=MS,
        quarter_transfer_ns=round(0.3 * MS),
        pick_ns=MS // 2,
    )
    base = fit_workload(
        period=2 * MS,
        step=2 * MS,
        found=[timed(FrozenBatch, MS // 2), device, InputFacts(kind="arrays")],
    )
    return with_found(base, *found)


def cpu_workload(*found: Found) -> RecordedWorkload:
    """Steps of 9 ms on a CPU, with a backend that could use a GPU."""
    device = Device(kind="cpu", built_for_gpu=True, seen=("cpu",))
    return with_found(fit_workload(found=[timed(FrozenBatch, 9 * MS), device]), *found)


def with_gpu(made: Recording) -> Recording:
    """The same recording on a machine with a GPU."""
    machine = replace(made.machine, accelerators=(Accelerator(name="H200"),))
    return replace(made, machine=machine)
