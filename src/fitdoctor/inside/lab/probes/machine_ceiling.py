"""What this machine can do at best: one large matrix product and one large copy."""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.inside.lab.apparatus.layer_cost import timed_layers
from fitdoctor.inside.lab.apparatus.windows import durations_ns
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.seams.backends.base import Backend

SIZE = 1024
COPY_ELEMENTS = 16_000_000
REPEATS = 4


class MachineCeilingProbe(Probe[MachineCeiling]):
    """Floating-point operations and bytes per second, the best of a few tries."""

    phase = Phase.LAYERS
    after = ("layers",)
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return bool(timed_layers(context))

    def run(self, context: Context) -> MachineCeiling:
        ops = sys.modules["keras"].ops
        matrix = ops.ones((SIZE, SIZE), dtype="float32")
        vector = ops.ones((COPY_ELEMENTS,), dtype="float32")
        product = _best(context.backend, lambda: ops.matmul(matrix, matrix))
        copy = _best(context.backend, lambda: ops.add(vector, 1.0))
        return MachineCeiling(
            flops_per_s=2.0 * SIZE**3 / product * 1e9,
            bytes_per_s=2.0 * 4 * COPY_ELEMENTS / copy * 1e9,
        )


def _best(backend: Backend, work: Any) -> float:
    backend.wait_for(work())

    def timed() -> None:
        result = work()
        # Copying a large result out would be part of the time; on TensorFlow's CPU it is done.
        if backend.name != "tensorflow":
            backend.wait_for(result)

    return float(min(durations_ns(timed, REPEATS)))
