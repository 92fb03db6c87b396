"""What this machine can do at best with the backend that trains."""

from __future__ import annotations

from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.inside.lab.apparatus.ceilings import ceilings_of
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe

FULL_PRECISION = "float32"


class MachineCeilingProbe(Probe[MachineCeiling]):
    """Kept from an earlier run, or measured in a few seconds."""

    phase = Phase.LAYERS
    after = ("layers", "operations")
    subjects = STEPS
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return context.trial is not None and context.step_ns is not None

    def run(self, context: Context) -> MachineCeiling:
        found = ceilings_of(context.backend)
        matmul = found.matmul_flops_per_s.get(FULL_PRECISION)
        if matmul is None or found.bytes_per_s is None:
            raise NotAvailable("the machine's rates could not be measured")
        return MachineCeiling(
            flops_per_s=matmul,
            bytes_per_s=found.bytes_per_s,
            conv_flops_per_s=found.conv_flops_per_s,
            op_start_ns=found.op_start_ns,
            by_dtype=found.matmul_flops_per_s,
        )
