"""Experiments with what a fit pays at its start and at each validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab import input_probes
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.lab.probes.array_conversion import array_conversion
from fitdoctor.inside.lab.probes.validation_batches import validation_batches
from fitdoctor.inside.lab.probes.validation_passes import validation_passes
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend

Probe = Callable[[str, Callable[[], Data]], Data | None]

# Validation below this share of the training is not tried in other batches.
VALIDATION_SHARE = 0.1


def probe_calls(probe: Probe, backend: Backend, call: Call, facts: Data, result: Any) -> None:
    """What is paid at the start of each call, of each validation.

    Args:
        probe: runs an experiment and writes what came of it.
        backend: of the model.
        call: the fit.
        facts: what is known of its input.
        result: the last step's, while the fit is still running.
    """
    arguments = call.arguments
    # More calls may follow: only then the start of each matters, which the rule asks.
    if facts.get("kind") == "arrays":
        x, y = arguments.get("x"), arguments.get("y")
        probe("array_conversion", lambda: array_conversion(backend.name, x, y))
    input_probes.probe_validation(probe, arguments.get("validation_data"))
    if call.validation <= VALIDATION_SHARE * (call.validation + call.step_total):
        return
    if arguments.get("validation_steps") is not None:
        probe("validation_passes", lambda: validation_passes(call))

    def in_larger_batches() -> Data:
        # During a fit, Keras on JAX keeps the state out of the variables, which validation reads.
        backend.hold_state(call.model, result)
        return validation_batches(call)

    probe("validation_batches", in_larger_batches)
