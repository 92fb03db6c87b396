"""Watches the script's processes and the machine from outside, four times a second.

Runs in the parent, so that watching costs the script nothing but the cores we share.
What cannot be read is null, never 0.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import psutil

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.records import Machine, Sample
from fitdoctor.contract.writer import append, record_of
from fitdoctor.inside.ledger.cgroup import own_cgroup
from fitdoctor.launch.accelerators import Accelerators, gpus_on_bus

PERIOD_S = 0.25
# Finding the children means reading every process of the machine: once a second is enough.
CHILDREN_EVERY = 4
# A TensorFlow process has dozens of threads, most of them asleep.
TOP_THREADS = 8
# Position of majflt among the fields of /proc/PID/stat after the name in parentheses.
_MAJOR_FAULTS_FIELD = 9


def describe_machine(*, before_script: bool = True) -> Machine:
    """What the script runs on; once it runs, other users of a GPU look like the script."""
    cgroup = own_cgroup()
    accelerators = Accelerators()
    driver, driver_cuda = accelerators.driver()
    machine = Machine(
        cpus=os.cpu_count(),
        affinity=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        cgroup_cpus=cgroup.cpu_limit(),
        memory_bytes=psutil.virtual_memory().total,
        cgroup_memory_bytes=cgroup.memory_limit_bytes(),
        accelerators=accelerators.describe(processes=before_script),
        accelerators_note=accelerators.unavailable,
        driver=driver,
        driver_cuda=driver_cuda,
        gpus_on_bus=gpus_on_bus(),
        platform=platform.platform(),
        python=platform.python_version(),
    )
    accelerators.close()
    return machine


class ProcessTree:
    """The script's process and everything it started."""

    def __init__(self, pid: int) -> None:
        self._main = psutil.Process(pid)
        self._children: list[psutil.Process] = []
        # By process, also after its end: the sums must not fall when a worker leaves.
        self._children_cpu_ns: dict[psutil.Process, int] = {}
        self._children_read: dict[psutil.Process, int | None] = {}
        self._looks = 0

    def sample(self) -> Sample:
        """The main process and its children, kept apart.

        Raises:
            psutil.NoSuchProcess: The script has ended.
        """
        if self._looks % CHILDREN_EVERY == 0:
            self._children = self._main.children(recursive=True)
        self._looks += 1
        with self._main.oneshot():
            main = Sample(
                t=time.monotonic_ns(),
                cpu_ns=_cpu_ns(self._main),
                threads=self._threads(),
                rss=self._main.memory_info().rss,
                major_faults=_major_faults(self._main.pid),
                read_bytes=_read_bytes(self._main),
            )
        return self._with_children(main)

    def _with_children(self, main: Sample) -> Sample:
        rss = 0
        for child in self._children:
            try:
                self._children_cpu_ns[child] = _cpu_ns(child)
                rss += child.memory_info().rss
                self._children_read[child] = _read_bytes(child)
            except psutil.Error:  # ended since the last look
                continue
        return replace(
            main,
            children=len(self._children),
            children_cpu_ns=sum(self._children_cpu_ns.values()),
            children_rss=rss,
            children_read_bytes=_sum_if_known(self._children_read.values()),
        )

    def _threads(self) -> tuple[tuple[int, str | None, int], ...] | None:
        try:
            threads = self._main.threads()
        except psutil.AccessDenied:
            return None
        busiest = sorted(threads, key=lambda t: t.user_time + t.system_time, reverse=True)
        return tuple(
            (t.id, _thread_name(self._main.pid, t.id), _to_ns(t.user_time + t.system_time))
            for t in busiest[:TOP_THREADS]
        )


class Sampler(threading.Thread):
    """Appends one sample to the recording every quarter of a second."""

    def __init__(self, pid: int, recording: Path, *, period_s: float = PERIOD_S) -> None:
        super().__init__(name="fitdoctor-sampler", daemon=True)
        self.stopped_because: str | None = None
        self._recording = recording
        self._period_s = period_s
        self._pid = pid
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Sample until stopped, until the script ends, or until the disk is full."""
        accelerators = Accelerators()
        try:
            self._sample_until_stopped(accelerators)
        except (psutil.Error, OSError) as error:
            self.stopped_because = f"{type(error).__name__}: {error}"
        finally:
            accelerators.close()

    def _sample_until_stopped(self, accelerators: Accelerators) -> None:
        tree = ProcessTree(self._pid)
        cgroup = own_cgroup()
        # Load is measured since the call before, so the first answer means nothing.
        psutil.cpu_percent(percpu=True)
        while not self._stopped.wait(self._period_s):
            throttling = cgroup.throttling()
            sample = replace(
                tree.sample(),
                cores=tuple(psutil.cpu_percent(percpu=True)),
                throttled=throttling.periods,
                throttled_ns=throttling.duration_ns,
                gpu=accelerators.sample(),
            )
            append(self._recording, record_of("sample", sample))


def _to_ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)


def _sum_if_known(numbers: Collection[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _cpu_ns(process: psutil.Process) -> int:
    times = process.cpu_times()
    return _to_ns(times.user + times.system)


def _read_bytes(process: psutil.Process) -> int | None:
    """Bytes that came from the disk, not from the page cache."""
    try:
        return int(process.io_counters().read_bytes)
    except (psutil.AccessDenied, AttributeError):  # not every system counts them
        return None


def _major_faults(pid: int) -> int | None:
    # psutil does not offer it. The name in parentheses may itself hold spaces.
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return int(fields.rpartition(")")[2].split()[_MAJOR_FAULTS_FIELD])
    except (OSError, IndexError, ValueError):
        return None


def _thread_name(pid: int, tid: int) -> str | None:
    try:
        name = Path(f"/proc/{pid}/task/{tid}/comm").read_bytes()
    except OSError:
        return None
    return name.decode("utf-8", "replace").rstrip("\n")
