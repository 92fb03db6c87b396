"""The machine's best rates with one backend: the best of a few tries each, a few seconds in all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from fitdoctor.contract.ceilings import Ceilings, read_ceilings, write_ceilings
from fitdoctor.inside.lab.apparatus.windows import durations_ns
from fitdoctor.inside.ledger.cpu import CpuWatch, cores_by_affinity
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.device import device_facts
from fitdoctor.inside.seams.models import reference_work
from fitdoctor.inside.seams.operations import profile
from fitdoctor.inside.seams.operations.profilers import PROFILERS

REPEATS = 5
PYTHON_CALLS = 20_000
# Half precision is worth a rate only where it is used; on a CPU it is emulated, and takes long.
DTYPES = ("float32", "bfloat16")
SLOW_S = 1.0


def ceilings_of(backend: Backend) -> Ceilings:
    """What is known of this machine, measured now if that is old or missing."""
    blank = blank_ceilings(backend)
    kept = read_ceilings()
    known = kept.rates.get(blank.key)
    if known is not None and known.is_fresh():
        return known
    found = measured_ceilings(backend)
    write_ceilings(read_ceilings().with_rates(found))
    return found


def blank_ceilings(backend: Backend) -> Ceilings:
    """What the rates depend on, without any."""
    module = sys.modules.get(backend.name)
    device = device_facts(backend.name)
    return Ceilings(
        backend=backend.name,
        version=str(getattr(module, "__version__", "unknown")),
        device=device.name if device.kind == "gpu" else "cpu",
        cores=cores_by_affinity(),
    )


def measured_ceilings(backend: Backend) -> Ceilings:
    """Measure everything; what fails is left out."""
    watch = CpuWatch()
    found = {
        "bytes_per_s": _tried(lambda: _moving_rate(backend)),
        "conv_flops_per_s": _tried(lambda: _conv_rate(backend)),
        "op_start_ns": _tried(lambda: _op_start_ns(backend)),
        "eager_op_ns": _tried(lambda: _eager_op_ns(backend)),
        "python_call_ns": _python_call_ns(),
    }
    blank = blank_ceilings(backend)
    return Ceilings(
        backend=blank.backend,
        version=blank.version,
        device=blank.device,
        cores=blank.cores,
        matmul_flops_per_s=_matmul_rates(backend),
        measured_unix_s=time.time(),
        others_cores=watch.stop().disturbing_cores,
        **found,
    )


def _matmul_rates(backend: Backend) -> dict[str, float]:
    rates: dict[str, float] = {}
    for dtype in DTYPES:
        begin = time.perf_counter()
        rate = _tried(lambda dtype=dtype: _matmul_rate(backend, dtype))  # type: ignore[misc]
        if rate is not None:
            rates[dtype] = rate
        if time.perf_counter() - begin > SLOW_S and not _on_gpu(backend):
            break
    return rates


def _matmul_rate(backend: Backend, dtype: str) -> float:
    work, flops = reference_work.matrix_product(dtype, on_gpu=_on_gpu(backend))
    return _rate(backend, work, flops)


def _moving_rate(backend: Backend) -> float:
    vector, moved = reference_work.vector_sum(on_gpu=_on_gpu(backend))
    return _rate(backend, vector, moved)


def _conv_rate(backend: Backend) -> float:
    work, flops = reference_work.convolution(backend.name, on_gpu=_on_gpu(backend))
    return _rate(backend, work, flops)


def _op_start_ns(backend: Backend) -> float:
    """Time of a chain of small operations over their number, as the profiler counts them."""
    work = reference_work.small_operations(backend.name)
    ns = _best_ns(backend, work)
    seen = profile.operations(PROFILERS[backend.name], lambda: _done(backend, work), 1)([])
    return ns / max(1.0, seen.count)


def _eager_op_ns(backend: Backend) -> float:
    work = reference_work.small_eager_operation()

    def several() -> Any:
        for _ in range(reference_work.CHAIN - 1):
            work()
        return work()

    return _best_ns(backend, several) / reference_work.CHAIN


def _python_call_ns() -> float:
    def nothing() -> None:
        pass

    def calls() -> None:
        for _ in range(PYTHON_CALLS):
            nothing()

    return min(durations_ns(calls, REPEATS)) / PYTHON_CALLS


def _rate(backend: Backend, work: Callable[[], Any], amount: float) -> float:
    return amount / _best_ns(backend, work) * 1e9


def _best_ns(backend: Backend, work: Callable[[], Any]) -> float:
    _done(backend, work)
    return float(max(1, durations_ns(lambda: _done(backend, work), REPEATS)[0]))


def _done(backend: Backend, work: Callable[[], Any]) -> None:
    result = work()
    # Copying a large result out would be part of the time; on TensorFlow's CPU it is done.
    if backend.name != "tensorflow" or _on_gpu(backend):
        backend.wait_for(result)


def _on_gpu(backend: Backend) -> bool:
    return device_facts(backend.name).kind == "gpu"


def _tried(measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except Exception:  # noqa: BLE001 - a rate that cannot be measured here is left out
        return None
