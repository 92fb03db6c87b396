"""An examination without a framework: each probe can be asked and run alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus import windows
from fitdoctor.inside.lab.apparatus.fit_step import FitStep
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Probe, Subject, probes_of
from fitdoctor.inside.ledger.cpu import CpuUse

MS = 1_000_000
Raw = dict[str, Any]


class FakeRecorder:
    """Keeps what is written."""

    def __init__(self, *, ends_script: bool = False) -> None:
        self.writer = self
        self.ends_script = ends_script
        self.compiled_with: dict[Any, Raw] = {}
        self.lines: list[Raw] = []
        self.now = 0
        self.suspended = 0

    def clock(self) -> int:
        return self.now

    def write(self, record: Raw) -> None:
        self.lines.append(record)

    def note(self, level: str, message: str, workload: int | None = None) -> None:
        self.lines.append({"k": "note", "level": level, "message": message, "w": workload})

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.suspended += 1
        yield
        self.suspended -= 1

    @property
    def probes(self) -> dict[str, Raw]:
        """The last record of each probe, in order."""
        return {line["name"]: line for line in self.lines if line["k"] == "probe"}


class FakeStepper:
    """Counts its steps."""

    logs: Any = None

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self.steps = 0

    def step(self) -> None:
        self.steps += 1

    def synchronize(self) -> None:
        pass


class FakeBackend:
    """Batches are lists of rows; every step is free."""

    def __init__(self, name: str = "jax") -> None:
        self.name = name
        self.restored = 0
        self.settings: list[Raw] = []  # of the step functions that were asked for
        self.steppers: list[FakeStepper] = []
        self.most_rows = 10**9  # a larger batch does not fit

    def recording_gradients(self) -> AbstractContextManager[None]:
        return nullcontext()

    def snapshot(self, model: Any) -> Callable[[], None]:
        def restore() -> None:
            self.restored += 1

        return restore

    def frozen_batch(self, call: Any, arguments: Any, *, may_consume: bool) -> Any:
        return list(range(32))

    def step_function(self, model: Any, **settings: Any) -> Callable[..., Any]:
        self.settings.append(settings)
        return lambda *_: None

    def stepper(self, call: Any, function: Any, batch: Any, result: Any) -> FakeStepper:
        if batch is not None and len(batch) > self.most_rows:
            raise MemoryError("too large")
        self.steppers.append(FakeStepper(batch))
        return self.steppers[-1]

    def live_stepper(self, call: Any, function: Any, result: Any) -> FakeStepper:
        return self.stepper(call, function, None, result)

    def stepper_under(self, call: Any, change: Any, batch: Any, result: Any) -> FakeStepper:
        return self.stepper(call, None, batch, result)

    def hold_state(self, model: Any, result: Any) -> None:
        pass

    def fresh_loader(self, call: Any) -> Iterator[Any]:
        return iter([])

    def rows(self, batch: Any) -> int | None:
        return None if batch is None else len(batch)

    def cut(self, batch: Any, rows: int) -> Any:
        return batch[:rows]

    def widen(self, batch: Any, times: int) -> Any:
        return batch * times

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def wait_for(self, value: Any) -> None:
        pass


@dataclass(kw_only=True)
class FakeContext(Context):
    """A context that says what a test says of the device."""

    gpu: bool = False
    spread: bool = False
    eager: bool = False
    recorder: Any = field(default_factory=FakeRecorder)
    backend: Any = field(default_factory=FakeBackend)
    subject: Subject = Subject.FIT
    workload: Any = field(default_factory=lambda: SimpleNamespace(number=1, steps=0))
    hdf5: Any = field(default_factory=lambda: SimpleNamespace(by_dataset={}))

    @property
    def on_gpu(self) -> bool:
        return self.gpu

    @property
    def is_spread(self) -> bool:
        return self.spread

    @property
    def is_eager(self) -> bool:
        return self.eager


class FakeModel:
    """A model made of the layers that a test gives."""

    def __init__(self, *layers: Any, **more: Any) -> None:
        self.run_eagerly = False
        self.jit_compile: Any = "auto"
        self.loss = "mse"
        self.optimizer = SimpleNamespace()
        self.layers = list(layers)
        vars(self).update(more)

    def count_params(self) -> int:
        return 0

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Any]:
        return [self, *self.layers] if include_self else list(self.layers)


def fake_call(**changes: Any) -> Any:
    """A fit of a model without layers."""
    details: Raw = {
        "model": FakeModel(),
        "kind": "fit",
        "arguments": {},
        "executions": 1,
        "epochs": 1,
        "steps": 100,
        "validation": 0,
        "step_total": 1,
        "source": None,
        "epoch_iterator": None,
        "step_function": lambda *_: None,
    }
    return SimpleNamespace(**{**details, **changes})


def fake_context(
    step_ms: float | None = None,
    *,
    backend: str = "jax",
    found: tuple[object, ...] = (),
    **changes: Any,
) -> FakeContext:
    """A fit with a frozen batch; its step was timed where `step_ms` is given."""
    given: Raw = {"call": fake_call(), "batch": list(range(32)), "backend": FakeBackend(backend)}
    context = FakeContext(**{**given, **changes})
    if context.call is not None and "trial" not in changes:
        call, batch = context.call, context.batch
        context.trial = FitStep(
            context.backend, call, batch, context.result, is_eager=context.is_eager
        )
    results = list(found)
    if step_ms is not None:
        results.append(FrozenBatch(ns=(step_ms * MS,)))
    for one in results:
        context.keep(one, recorded_name(type(one)))
    return context


def probe_named(module: Any, name: str) -> Probe[Any]:
    """A probe of a module of `lab/probes`."""
    return next(probe for probe in probes_of(module) if probe.name == name)


class FakeWatch:
    """A CPU that nobody else uses."""

    def stop(self) -> CpuUse:
        return CpuUse(1_000_000, 1.0, 0.0, 0.0)


class QuickTime:
    """Every look at the clock finds it a tenth of a second later."""

    def __init__(self) -> None:
        self.looks = 0

    def perf_counter(self) -> float:
        self.looks += 1
        return self.looks / 10


@pytest.fixture
def quick_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that take no time."""
    monkeypatch.setattr(windows, "time", QuickTime())
    monkeypatch.setattr(windows, "CpuWatch", FakeWatch)
