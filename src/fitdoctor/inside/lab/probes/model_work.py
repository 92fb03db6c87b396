"""How much arithmetic a step is, whatever it takes: what a GPU's use is measured against."""

from __future__ import annotations

from collections import Counter

from fitdoctor.contract.evidence.model import ModelWork
from fitdoctor.inside.lab.apparatus import arithmetic
from fitdoctor.inside.lab.apparatus.layer_timer import Forward, forward_times
from fitdoctor.inside.lab.apparatus.model_pass import forward_pass
from fitdoctor.inside.lab.apparatus.shapes import shape_of
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe

# A forward pass layer by layer takes long where a model has very many.
MOST_PARAMETERS = 2_000_000_000


class ModelWorkProbe(Probe[ModelWork]):
    """The shapes of one forward pass, called layer by layer."""

    phase = Phase.LAYERS
    subjects = STEPS
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        if context.trial is None or context.step_ns is None or not context.on_gpu:
            return False
        return int(context.model.count_params()) <= MOST_PARAMETERS

    def run(self, context: Context) -> ModelWork:
        flops: Counter[str] = Counter()
        moved = 0.0
        for seen in forward_times(context.backend, forward_pass(context)).values():
            # Models only hold layers; what is inside a layer is part of it.
            if seen.inside is not None or getattr(seen.layer, "layers", None):
                continue
            of_layer, bytes_of_layer = _work(seen)
            flops[_dtype(seen)] += of_layer  # type: ignore[assignment]
            moved += bytes_of_layer
        if not flops:
            raise NotAvailable("no layer was called")
        most = max(flops, key=lambda dtype: flops[dtype])
        return ModelWork(float(sum(flops.values())), moved, most)


def _work(seen: Forward) -> tuple[float, float]:
    inputs, output = shape_of(seen.inputs), shape_of(seen.output)
    if inputs is None or output is None:
        return 0.0, 0.0
    weights = [tuple(int(n) for n in one.shape) for one in getattr(seen.layer, "weights", [])]
    kind = type(seen.layer).__name__
    flops = arithmetic.flops(kind, weights, inputs, output)
    moved = arithmetic.moved_bytes(weights, inputs, output)
    return seen.calls * flops, seen.calls * moved


def _dtype(seen: Forward) -> str:
    return str(getattr(seen.layer, "compute_dtype", None) or "float32")
