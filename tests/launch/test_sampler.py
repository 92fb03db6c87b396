from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from fitdoctor.contract.codec import decode, encode
from fitdoctor.contract.records import Accelerator, DeviceSample, Machine, Sample
from fitdoctor.launch import sampler as sampling
from fitdoctor.launch.accelerators import Accelerators
from fitdoctor.launch.sampler import ProcessTree, Sampler, describe_machine

# Each line on stdin asks the process for the next thing to do.
WORKER = """
import subprocess, sys, threading
def burn():
    sum(range(6_000_000))
for line in sys.stdin:
    if line == "burn\\n":
        burn()
    elif line == "thread\\n":
        thread = threading.Thread(target=burn); thread.start(); thread.join()
    elif line == "child\\n":
        child = subprocess.Popen([sys.executable, "-c", "sum(range(20_000_000)); input()"],
                                 stdin=subprocess.PIPE)
    elif line == "end child\\n":
        child.communicate(b"\\n")
    print("done", flush=True)
"""


class Worker:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, word: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture
def worker() -> Any:
    worker = Worker()
    yield worker
    worker.end()


def test_what_cannot_be_read_is_none_not_zero(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: psutil.Process) -> None:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "io_counters", refuse)
    monkeypatch.setattr(psutil.Process, "threads", refuse)
    monkeypatch.setattr(sampling, "_major_faults", lambda pid: None)
    sample = ProcessTree(worker.process.pid).sample()
    assert sample.read_bytes is None
    assert sample.threads is None
    assert sample.major_faults is None
    # No children is a known number, not an unknown one.
    assert sample.children_cpu_ns == 0
    assert sample.children_read_bytes == 0


def test_no_nvml_is_data_not_an_error() -> None:
    accelerators = Accelerators()
    if accelerators.unavailable is None:
        pytest.skip("this machine has NVML")
    assert accelerators.unavailable.startswith("not available: ")
    assert accelerators.sample() is None
    assert accelerators.describe() == ()
    accelerators.close()


def test_a_device_that_does_not_answer_every_question(monkeypatch: pytest.MonkeyPatch) -> None:
    class NVMLError(Exception):
        pass

    def no_power(handle: object) -> int:
        raise NVMLError("Not Supported")

    nvml = SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: b"H200",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=100, used=40),
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=0),
        nvmlDeviceGetPowerUsage=no_power,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    accelerators = Accelerators()
    assert accelerators.describe() == (Accelerator(name="H200", memory_bytes=100),)
    assert accelerators.sample() == (DeviceSample(util=0, mem=40),)


def test_clocks_what_holds_them_down_and_who_else_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nvml = SimpleNamespace(
        NVMLError=type("NVMLError", (Exception,), {}),
        NVML_CLOCK_SM=1,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: "H200",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=100, used=40),
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=70),
        nvmlDeviceGetPowerUsage=lambda handle: 300_000,
        nvmlDeviceGetClockInfo=lambda handle, kind: 1200,
        nvmlDeviceGetMaxClockInfo=lambda handle, kind: 1980,
        # Idle (1) is no reason to doubt; both kinds of heat are one.
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0x01 | 0x20 | 0x40,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [
            SimpleNamespace(pid=os.getpid(), usedGpuMemory=5),
            SimpleNamespace(pid=os.getpid(), usedGpuMemory=2**64 - 1),  # NVML does not know
        ],
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    accelerators = Accelerators()
    (device,) = accelerators.describe()
    assert device.clock_mhz == 1980
    ours, unknown = device.processes or ()
    assert (ours.pid, ours.memory_bytes) == (os.getpid(), 5)
    assert ours.name
    assert unknown.memory_bytes is None
    # Our own process may be on it already: then it could not be told from others.
    assert accelerators.describe(processes=False)[0].processes is None
    (sample,) = accelerators.sample() or ()
    assert (sample.clock, sample.held) == (1200, ("heat",))


def test_cpu_time_grows_with_work(worker: Worker) -> None:
    tree = ProcessTree(worker.process.pid)
    before = tree.sample()
    worker.do("burn")
    after = tree.sample()
    assert after.cpu_ns > before.cpu_ns
    assert after.rss > 0
    assert after.threads[0][0] == worker.process.pid
    assert after.threads[0][1].startswith("python")


def test_children_are_apart_and_their_time_stays_after_their_end(worker: Worker) -> None:
    tree = ProcessTree(worker.process.pid)
    worker.do("child")
    samples = [tree.sample()]
    while samples[-1].children_cpu_ns < 100_000_000:
        samples.append(tree.sample())
    assert samples[-1].children == 1
    assert samples[-1].children_rss > 0
    worker.do("end child")
    ended = [tree.sample() for _ in range(sampling.CHILDREN_EVERY + 1)][-1]
    assert ended.children == 0
    assert ended.children_rss == 0
    assert ended.children_cpu_ns >= samples[-1].children_cpu_ns


def test_the_thread_writes_samples_until_stopped(worker: Worker, tmp_path: Path) -> None:
    recording = tmp_path / "a.rec"
    recording.touch()
    sampler = Sampler(worker.process.pid, recording, period_s=0.01)
    sampler.start()
    while recording.read_bytes().count(b"\n") < 3:
        worker.do("burn")
    sampler.stop()
    samples = [json.loads(line) for line in recording.read_text().splitlines()]
    assert all(sample["k"] == "sample" for sample in samples)
    found = [decode(Sample, sample) for sample in samples]
    assert len(found[0].cores) == psutil.cpu_count()
    assert [s.t for s in found] == sorted(s.t for s in found)
    assert sampler.stopped_because is None


def test_the_thread_ends_with_the_process(tmp_path: Path) -> None:
    worker = Worker()
    worker.end()
    sampler = Sampler(worker.process.pid, tmp_path / "a.rec", period_s=0.01)
    sampler.start()
    sampler.join(timeout=30)
    assert sampler.stopped_because is not None
    assert sampler.stopped_because.startswith("NoSuchProcess")


def test_the_machine() -> None:
    machine = describe_machine()
    assert machine.memory_bytes == psutil.virtual_memory().total
    assert 1 <= machine.affinity <= machine.cpus
    assert decode(Machine, json.loads(json.dumps(encode(machine)))) == machine
