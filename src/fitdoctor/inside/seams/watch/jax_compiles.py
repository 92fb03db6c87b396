"""Every XLA compilation, through JAX's public monitoring events."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.records import EventDetail
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.watch import jax_calls

COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
_WORTH_RECORDING_S = 0.001  # eager JAX compiles hundreds of trivial ops


def watch_compiles(recorder: Recorder, jax: Any) -> None:
    """Record each XLA compilation through JAX's public monitoring events."""

    def listener(event: str, duration: float, **detail: Any) -> None:
        if event != COMPILE_EVENT or duration < _WORTH_RECORDING_S or recorder.suspended:
            return
        call = recorder.active_call()
        nanoseconds = int(duration * 1e9)
        name = str(detail.get("fun_name", ""))
        if call is not None:
            shapes = batches.describe(call.last_batch)
            number = recorder.model_number(call.model)
            facts = EventDetail(name=name, shapes=tuple(shapes), model=number)
        else:
            facts = jax_calls.compiling(name)
        recorder.event("compile", recorder.clock() - nanoseconds, nanoseconds, facts)

    jax.monitoring.register_event_duration_secs_listener(listener)
