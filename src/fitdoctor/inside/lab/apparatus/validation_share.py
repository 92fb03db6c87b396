"""Whether validation takes enough of a fit to be tried in other ways."""

from __future__ import annotations

from fitdoctor.inside.ledger.running_call import Call

# Validation below this share of the training is not tried in other batches.
VALIDATION_SHARE = 0.1


def validation_matters(call: Call) -> bool:
    """Whether it takes a notable share of the fit."""
    return call.validation > VALIDATION_SHARE * (call.validation + call.step_total)
