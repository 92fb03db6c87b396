"""Recordings made by hand: exact numbers, no clock, no framework."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fitdoctor.contract.records import (
    CallbackTotal,
    CallRow,
    Event,
    Probe,
    RecordedWorkload,
    Recording,
    StepBlock,
)

MS = 1_000_000


def windows(ns: float, count: int = 8, **more: Any) -> dict[str, Any]:
    """A probe's windows around one value, with one per cent of noise."""
    values = [ns * (1 + 0.01 * ((i % 3) - 1)) for i in range(count)]
    return {
        "ns": values,
        "units": 100,
        "clean": True,
        "dirty_windows": 0,
        "own_cores": 1.0,
        "children_cores": 0.0,
        **more,
    }


def loader(
    ns: float, *, cores: float = 1.0, user_share: float = 0.0, **more: Any
) -> dict[str, Any]:
    """The loader-alone probe."""
    hot = [["/user/data.py", 12, "__getitem__", 90]] if user_share else []
    stacks = {
        "samples": 100,
        "user_share": user_share,
        "lock_share": 0.0,
        "lines": hot,
        "functions": hot,
    }
    return windows(ns, own_cores=cores, stacks=stacks, bytes=1000, **more)


def trial(ns: float, as_written: float, **more: Any) -> dict[str, Any]:
    """A changed pipeline that was timed beside the pipeline as written."""
    return {**windows(ns, **more), "as_written": windows(as_written)["ns"]}


def stage(op: str, n: int, **more: Any) -> dict[str, Any]:
    """One stage of a tf.data pipeline; it reads the next number unless told otherwise."""
    return {
        "n": n,
        "op": op,
        "inputs": [n + 1],
        "file": "/user/data.py",
        "line": 100 + n,
        "python": False,
        "random": False,
        "reorders": False,
        "parallel": None,
        **more,
    }


def slow_pipeline(
    *stages: dict[str, Any],
    loader_ns: float = 30 * MS,
    frozen: float = 2 * MS,
    cores: float = 1.0,
    rows: list[dict[str, Any]] | None = None,
    probes: dict[str, dict[str, Any]] | None = None,
    detail: dict[str, Any] | None = None,
    **more: Any,
) -> RecordedWorkload:
    """A fit that waits for its tf.data pipeline; frozen steps are short."""
    all_probes = {
        "frozen_batch": windows(frozen),
        "loader_alone": loader(loader_ns, cores=cores),
        "input": {"kind": "tf.data", "stages": list(stages)},
        "stages": {"rows": rows or []},
        **(probes or {}),
    }
    return fit_workload(
        period=round(max(loader_ns, frozen)),
        step=round(frozen),
        wait=round(max(0.0, loader_ns - frozen)),
        probes=all_probes,
        detail={"epochs": 10, **(detail or {})},
        **more,
    )


def fit_workload(
    *,
    period: int = 10 * MS,
    step: int = 9 * MS,
    wait: int | None = 0,
    callbacks: int = 0,
    steps: int = 200,
    probes: dict[str, dict[str, Any]] | None = None,
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
    return RecordedWorkload(
        number=1,
        kind=kind,
        file="/user/train.py",
        line=88,
        t=times[0],
        parent=None,
        detail={"backend": "tensorflow", **(detail or {})},
        blocks=(block,),
        calls=() if kind == "loop" else (call,),
        callbacks=callback_totals,
        events=events,
        probes={name: Probe(name, "ok", "", data) for name, data in (probes or {}).items()},
    )


def restarted_epochs(
    first_wait: int,
    *,
    epochs: int = 4,
    steps: int = 40,
    backend: str = "torch",
    ending: int = 0,
    probes: dict[str, dict[str, Any]] | None = None,
) -> RecordedWorkload:
    """Steps of 10 ms, and before each epoch but the first a wait for its first batch."""
    base = fit_workload(detail={"backend": backend, "epochs": epochs}, probes=probes)
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


def call_group(
    *,
    kind: str = "predict",
    period: int = 42 * MS,
    duration: int = 40 * MS,
    step: int = MS,
    calls: int = 60,
    steps_per_call: int = 1,
    probes: dict[str, dict[str, Any]] | None = None,
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
    return RecordedWorkload(
        number=1,
        kind=kind,
        file="/user/train.py",
        line=30,
        t=10**9,
        parent=None,
        detail={},
        calls=rows,
        probes={name: Probe(name, "ok", "", data) for name, data in (probes or {}).items()},
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
        header={"fitdoctor": "0.1.0", "script": {"path": "train.py", "argv": []}},
        machine={"cpus": cpus, "affinity": cpus},
        keras={"version": "3.15.1", "backend": backend},
        workloads=numbered,
        events=events,
        samples=(),
        notes=(),
        overhead={"ns_per_step": 1500},
        examined=True,
        ended=True,
        exit_code=0,
        exit_signal=None,
        broken_lines=0,
    )


def view(workload: RecordedWorkload, **more: Any) -> Any:
    """The view that rules get."""
    from fitdoctor.analysis.view import view_of

    found = view_of(recording(workload, **more), workload)
    assert found is not None
    return found
