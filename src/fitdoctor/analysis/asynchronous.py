"""Parts of a step where the host runs ahead of the device, as JAX does.

The host's clock shows when work was enqueued: it may fetch data while the device still computes,
and what the device has left to do surfaces as a wait somewhere else, at the end of an epoch or
inside the validation. A frozen batch shows how long a step takes.
"""

from __future__ import annotations

# Where work that was enqueued is waited for, the likeliest first.
SURFACES_IN = ("between_calls", "epoch_gap", "unknown", "callbacks", "validation")


def as_computed(parts: dict[str, float], core: float, frozen: float) -> dict[str, float]:
    """The same parts, with the device's work in the step and nowhere else.

    Args:
        parts: nanoseconds per step by the host's clock; what they sum to stays.
        core: from one step to the next.
        frozen: a step on one batch, waited for.
    """
    found = dict(parts)
    wait = found.get("input_wait", 0.0)
    hidden = max(0.0, wait - max(0.0, core - frozen))
    if hidden:
        found["input_wait"] = wait - hidden
        found["step"] = found.get("step", 0.0) + hidden
    for name in SURFACES_IN:
        missing = max(0.0, frozen - found.get("step", 0.0))
        moved = min(missing, found.get(name, 0.0))
        if moved:
            found[name] -= moved
            found["step"] = found.get("step", 0.0) + moved
    return found
