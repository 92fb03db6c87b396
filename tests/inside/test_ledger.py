"""The ledger with a fake clock: exact times, no framework."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import (
    CallbackTotal,
    CallRow,
    EventDetail,
    Machine,
    Script,
    WorkloadDetail,
)
from fitdoctor.contract.writer import Writer
from fitdoctor.inside.ledger.callsite import Place, is_user_file
from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.workload import Workload
from fitdoctor.inside.seams.watch import keras_trainer
from fitdoctor.launch.recording_files import begin


class FakeClock:
    def __init__(self) -> None:
        self.now = 1_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def sleep(self, ns: int) -> None:
        self.now += ns


class FakeModel:
    steps_per_execution = 1

    def __init__(self, clock: FakeClock, step_ns: int) -> None:
        def train_function(_: Any) -> str:
            clock.sleep(step_ns)
            return "logs"

        self.train_function = train_function


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.rec"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recorder(path: Path, clock: FakeClock) -> Recorder:
    return Recorder(Writer(str(path)), clock)


def records(path: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["k"] == kind]


def open_call(recorder: Recorder, model: Any, kind: str = "fit") -> Call:
    workload = recorder.workload(kind, Place("/user/t.py", 3, "main"), WorkloadDetail)
    return Call(recorder, workload, kind, model, {}, None)


def test_the_models_own_function_comes_back(recorder: Recorder, clock: FakeClock) -> None:
    model = FakeModel(clock, 10)
    own = model.train_function
    call = open_call(recorder, model)
    call.watch_steps()
    assert model.train_function is not own
    assert model.train_function(None) == "logs"
    call.close()
    assert model.train_function is own


def test_a_function_replaced_meanwhile_is_left_alone(recorder: Recorder, clock: FakeClock) -> None:
    model = FakeModel(clock, 10)
    call = open_call(recorder, model)
    call.watch_steps()
    model.train_function = replacement = lambda _: None
    call.close()
    assert model.train_function is replacement


def test_steps_waits_and_callbacks_are_recorded_to_the_nanosecond(
    recorder: Recorder, clock: FakeClock, path: Path
) -> None:
    model = FakeModel(clock, 700)
    call = open_call(recorder, model)
    call.watch_steps()
    call.python_wait = True
    call.begin_epoch()
    for _ in range(3):
        clock.sleep(200)
        call.wait += 200
        model.train_function(None)
        clock.sleep(50)
        call.callbacks += 50
    call.close()
    block = records(path, "steps")[0]
    assert block["step"] == [700, 700, 700]
    assert block["wait"] == [200, 200, 200]
    assert block["callbacks"] == [0, 50, 50]  # those of the step before
    row = records(path, "calls")[0]
    assert row["dur"] == [3 * 950]
    assert row["start_up"] == [200]
    assert (row["steps"], row["epochs"], row["step"]) == ([3], [1], [2100])
    assert (row["wait"], row["batch_callbacks"]) == ([600], [100])
    assert (row["validation"], row["epoch_callbacks"]) == ([0], [0])


def test_wait_inside_the_step_is_taken_off_it(
    recorder: Recorder, clock: FakeClock, path: Path
) -> None:
    model = FakeModel(clock, 700)
    call = open_call(recorder, model)
    call.watch_steps()
    call.python_wait = call.wait_is_inside_step = True
    call.wait = 300
    model.train_function(None)
    call.close()
    assert records(path, "steps")[0]["step"] == [400]


def test_an_examination_is_no_part_of_the_call(
    recorder: Recorder, clock: FakeClock, path: Path
) -> None:
    class Slow:
        def on_boundary(self, *_: Any) -> None:
            clock.sleep(5_000_000_000)

        def on_call_end(self, *_: Any) -> None: ...
        def on_loop_boundary(self, *_: Any) -> None: ...

    recorder.listener = Slow()
    model = FakeModel(clock, 600_000_000)
    call = open_call(recorder, model)
    call.watch_steps()
    model.train_function(None)
    model.train_function(None)
    call.close()
    assert records(path, "calls")[0]["dur"] == [1_200_000_000]
    assert records(path, "steps")[1]["after_pause"] is True


def test_a_call_ended_by_the_examination_ends_when_it_was_asked(
    recorder: Recorder, clock: FakeClock, path: Path
) -> None:
    class Ending:
        def on_boundary(self, *_: Any) -> None:
            clock.sleep(5_000_000_000)
            raise SystemExit(0)

        def on_call_end(self, *_: Any) -> None: ...
        def on_loop_boundary(self, *_: Any) -> None: ...

    recorder.listener = Ending()
    model = FakeModel(clock, 600_000_000)
    call = open_call(recorder, model)
    call.watch_steps()
    with pytest.raises(SystemExit):
        model.train_function(None)
    clock.sleep(3_000_000_000)  # Keras unwinds
    call.close()
    assert records(path, "calls")[0]["dur"] == [600_000_000]


def test_nothing_is_recorded_while_a_probe_runs(recorder: Recorder, clock: FakeClock) -> None:
    call = open_call(recorder, FakeModel(clock, 1))
    recorder.calls.append(call)
    assert recorder.active_call() is call
    with recorder.suspend():
        assert recorder.active_call() is None
    assert recorder.active_call() is call


def test_one_workload_per_line_and_kind(recorder: Recorder) -> None:
    place = Place("/user/t.py", 3, "main")
    first = recorder.workload("fit", place, WorkloadDetail)
    assert recorder.workload("fit", place, WorkloadDetail) is first
    assert recorder.workload("predict", place, WorkloadDetail) is not first
    assert recorder.workload("fit", place._replace(line=4), WorkloadDetail) is not first


def test_a_new_model_at_an_old_address_gets_a_new_number(recorder: Recorder) -> None:
    class Model:
        pass

    numbers = {recorder.model_number(Model()) for _ in range(20)}
    assert len(numbers) == 20
    model = Model()
    assert recorder.model_number(model) == recorder.model_number(model)


def test_a_forked_copy_does_not_write(path: Path) -> None:
    writer = Writer(str(path))
    writer._owner = -1
    writer.write({"k": "note"})
    assert path.read_text() == ""


def test_columns_survive_being_empty() -> None:
    workload = Workload(1, "fit", None, Writer("/dev/null"))
    workload.flush_steps()
    workload.flush_calls()


class FakeIterator:
    def __init__(self, clock: FakeClock, count: int) -> None:
        self.clock, self.left = clock, count

    def produce(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        self.clock.sleep(30)
        return self.left


def test_a_loop_gets_its_steps_from_its_loader(
    recorder: Recorder, clock: FakeClock, path: Path
) -> None:
    watch = LoopWatch(recorder)
    step = watch.timed_next(FakeIterator.produce, "tf.data")

    def train() -> None:
        for _ in range(2):  # two epochs
            iterator = FakeIterator(clock, 3)
            while True:
                try:
                    step(iterator)
                except StopIteration:
                    break
                clock.sleep(100)

    train()
    recorder.flush()
    blocks = records(path, "steps")
    assert [block["step"] for block in blocks] == [[100, 100, 100], [100, 100, 100]]
    assert [block["wait"] for block in blocks] == [[30, 30, 30], [30, 30, 30]]
    assert records(path, "workload")[0]["file"] == __file__


def test_a_loop_inside_keras_is_not_the_users(recorder: Recorder, clock: FakeClock) -> None:
    step = LoopWatch(recorder).timed_next(FakeIterator.produce, "tf.data")
    recorder.calls.append(open_call(recorder, FakeModel(clock, 1)))
    step(FakeIterator(clock, 1))
    assert [w.kind for w in recorder.workloads.values()] == ["fit"]


def test_library_files_are_not_the_users() -> None:
    assert is_user_file(__file__)
    assert not is_user_file(json.__file__)
    assert not is_user_file(pytest.__file__)
    assert not is_user_file("<frozen importlib._bootstrap>")
    assert is_user_file("<ipython-input-3-abc>")


def test_what_the_ledger_writes_is_what_the_reader_knows(
    recorder: Recorder, clock: FakeClock, path: Path
) -> None:
    begin(path, Script("t.py"), RunOptions(), Machine())
    model = FakeModel(clock, 700)
    place = Place("/user/t.py", 3, "main")
    workload = recorder.workload("fit", place, lambda: WorkloadDetail(epochs=2))
    call = Call(recorder, workload, "fit", model, {}, None)
    recorder.calls.append(call)
    call.watch_steps()
    call.begin_epoch()
    model.train_function(None)
    workload.callbacks["Mine", "epoch"] = [1, 50, "/user/t.py", 9]
    recorder.event("trace", clock(), 5, EventDetail(name="step", changed=("x",)))
    recorder.flush()
    (open_,) = read_recording(path).workloads[0].calls
    recorder.calls.remove(call)
    call.close()
    recorder.flush()
    recording = read_recording(path)
    (found,) = recording.workloads
    assert recording.damage == ()
    assert found.detail == WorkloadDetail(epochs=2)
    assert open_.steps == 1
    assert found.calls == (CallRow(*call.values(clock())),)
    assert found.blocks[0].step == (700,)
    assert found.callbacks == (CallbackTotal("Mine", "epoch", 1, 50, "/user/t.py", 9),)
    assert found.events[0].detail.changed == ("x",)


def test_arguments_of_other_types_than_keras_documents_are_left_out(recorder: Recorder) -> None:
    model = type("Model", (), {"run_eagerly": "perhaps", "jit_compile": "auto"})()
    arguments = {
        "validation_freq": [1, 5],
        "epochs": np.int64(3),
        "batch_size": 8.5,
        "steps_per_epoch": -1,
    }
    detail = keras_trainer._describe(recorder, model, arguments)
    assert (detail.validation_freq, detail.batch_size, detail.steps_per_epoch) == (None, None, None)
    assert (detail.epochs, detail.run_eagerly, detail.jit_compile) == (3, None, "auto")
