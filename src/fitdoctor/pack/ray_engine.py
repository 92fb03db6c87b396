"""Runs the shards of a plan as tasks of a Ray cluster whose nodes share the destination.

A task that dies with its node is run again on another one. That is safe: a shard appears under
its name only when it is whole, and every run of a task writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fitdoctor.contract.errors import FitdoctorError, OutputError
from fitdoctor.pack.engine import Tasks
from fitdoctor.pack.extras import needed
from fitdoctor.pack.job import Job, Report, write_shard
from fitdoctor.pack.shard import Receipt

# A node that dies takes all its tasks; more deaths than this are no accident.
MOST_RETRIES = 5
# Tasks given to the cluster at once; each is small, but a plan may have thousands.
AHEAD = 256


def run_ray(job: Job, tasks: Tasks, workers: int, report: Report) -> Iterator[Receipt]:
    """The receipts of all tasks, as they are finished; the cluster decides how many run at once.

    The cluster is the one that the environment names (RAY_ADDRESS), or one of this machine.

    Raises:
        FitdoctorError: A task failed; tasks that were finished before keep their shards.
    """
    ray = needed("ray", "ray")
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, configure_logging=False, include_dashboard=False)
    try:
        yield from _results(ray, job, list(tasks), report)
    finally:
        if started:
            ray.shutdown()


def _results(ray: Any, job: Job, tasks: Tasks, report: Report) -> Iterator[Receipt]:
    # The job may hold a long list of files: it is sent once, not with every task.
    shared = ray.put(job)
    remote = ray.remote(max_retries=MOST_RETRIES)(write_shard)
    tasks.reverse()
    waiting: list[Any] = []
    while tasks or waiting:
        while tasks and len(waiting) < AHEAD:
            waiting.append(remote.remote(shared, *tasks.pop()))
        done, waiting = ray.wait(waiting, num_returns=1)
        try:
            receipt: Receipt = ray.get(done[0])
        except ray.exceptions.RayTaskError as error:
            cause = error.cause
            raise cause if isinstance(cause, FitdoctorError) else error from None
        except ray.exceptions.RayError as error:
            raise OutputError(
                f"Ray lost a task {MOST_RETRIES + 1} times: {type(error).__name__}",
                expected="nodes that stay alive and share the destination folder",
                advice="the same command again: it continues where it stopped",
            ) from error
        report(receipt.items, receipt.bytes)
        yield receipt
