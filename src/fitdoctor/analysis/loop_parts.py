"""Where an iteration of a hand-written loop goes: data, step, the user's own code; they sum.

The ledger times what it can see exactly: `next` of a loader, calls of compiled functions and of
Keras. What lies between is divided by what the loop was seen doing.
"""

from __future__ import annotations

from fitdoctor.analysis.watched_loop import WatchedLoop

OWN_CODE = "between_calls"


def loop_parts(
    period: float,
    watched: WatchedLoop | None,
    *,
    waited: float | None,
    timed: float,
    is_whole_body: bool = False,
) -> dict[str, float]:
    """Nanoseconds per iteration.

    Args:
        period: from one iteration to the next.
        watched: shares of the loop's time, where it was watched.
        waited: in `next` of a loader that was timed.
        timed: in the calls that mark a step, or in the body between two `next`s.
        is_whole_body: it is the latter, so that the user's own code is in it.
    """
    if watched is None:
        return _by_clock(period, waited, timed, is_whole_body)
    loading = max(waited or 0.0, watched.loading * period)
    step = max(0.0 if is_whole_body else timed, watched.in_framework * period)
    own = watched.own * period
    # Samples are rougher than a clock: what was timed stays, the user's own code gives way.
    over = loading + step + own - period
    if over > 0:
        own -= min(own, over)
        scale = period / max(period, loading + step + own)
        loading, step, own = (one * scale for one in (loading, step, own))
    else:
        own -= over
    parts = {"step": step, OWN_CODE: own}
    return parts if waited is None and not watched.loading else {**parts, "input_wait": loading}


def _by_clock(
    period: float, waited: float | None, timed: float, is_whole_body: bool
) -> dict[str, float]:
    parts: dict[str, float] = {} if waited is None else {"input_wait": waited}
    if is_whole_body:
        return {**parts, "step": timed}
    return {**parts, "step": timed, OWN_CODE: max(0.0, period - timed - (waited or 0.0))}
