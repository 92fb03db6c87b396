"""How many threads the step computes with, against the cores it may use."""

from __future__ import annotations

import math
import os
import sys
from typing import Any

from fitdoctor.contract.evidence.step import Threads
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.ledger.cgroup import own_cgroup

TF_VARIABLE = "TF_NUM_INTRAOP_THREADS"


class ThreadsProbe(Probe[Threads]):
    phase = Phase.FACTS
    subjects = STEPS
    on_spread_models = True
    needs_quiet = False

    def run(self, context: Context) -> Threads:
        backend = context.backend.name
        return Threads(asked=_asked(backend), allowed=allowed_cores(), backend=backend)


def allowed_cores() -> int:
    """Cores this process may use at a time: affinity and quota, whichever is less."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    cores = affinity or os.cpu_count() or 1
    quota = own_cgroup().cpu_limit()
    return max(1, min(cores, math.ceil(quota))) if quota else cores


def _asked(backend: str) -> int | None:
    """Threads within one op; None where nobody asked for a number."""
    if backend == "torch":
        return int(sys.modules["torch"].get_num_threads())
    if backend == "tensorflow":
        threading: Any = sys.modules["tensorflow"].config.threading
        asked = int(threading.get_intra_op_parallelism_threads())
        variable = os.environ.get(TF_VARIABLE, "")
        return asked or (int(variable) if variable.isdigit() and int(variable) else None)
    return None
