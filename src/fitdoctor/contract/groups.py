"""What a group of repeated calls is; the examiner and the analysis must agree on it."""

from __future__ import annotations

from fitdoctor.contract.limits import GROUP_CALLS, GROUP_STEPS_PER_CALL

# A call of `*_on_batch` is a step: two of them are enough to see the time between calls.
ON_BATCH_CALLS = 2


def is_group(kind: str, calls: int, steps: int) -> bool:
    """Many calls of a few steps each from one line: what each call costs is what counts.

    Args:
        kind: fit, predict, train_on_batch, …
        calls: from this line.
        steps: of all these calls.

    Example:
        >>> is_group("predict", calls=8, steps=8), is_group("fit", calls=8, steps=800)
        (True, False)
    """
    if kind.endswith("_on_batch"):
        return calls >= ON_BATCH_CALLS
    return calls >= GROUP_CALLS and steps <= GROUP_STEPS_PER_CALL * calls
