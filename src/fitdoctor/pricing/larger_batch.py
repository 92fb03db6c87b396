"""What the samples of a step take in a batch of another size."""

from __future__ import annotations

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.step import BatchScaling
from fitdoctor.intervals import Interval

# Times the batch; the larger change of the training must be worth it.
LARGER_TIMES = 4
LARGEST_TIMES = 16
WORTH_LARGER = 1.5


def step_at(view: View, times: float) -> Interval | None:
    """The frozen step at so many times the batch; None where that was not tried."""
    scaling = view.found(BatchScaling)
    if scaling is None:
        return None
    windows = scaling.sizes.get(str(int(scaling.rows * times)))
    return from_windows(windows.ns) if windows is not None else None


def best_batch(view: View) -> tuple[int, Interval] | None:
    """How many times the batch to recommend, and what its share of a step then takes.

    Loading takes as long per sample as before; fewer steps are started.
    """
    if view.frozen is None:
        return None
    wait = Interval.exact(_wait_per_sample(view))
    outside = view.core.minus(view.frozen).minus(wait)
    best: tuple[int, Interval] | None = None
    for times in (LARGER_TIMES, LARGEST_TIMES):
        scaled = step_at(view, times)
        if scaled is None:
            continue
        after = (scaled + outside).scaled(1.0 / times) + wait
        if best is None or best[1].value > WORTH_LARGER * after.value:
            best = (times, after)
    return best


def _wait_per_sample(view: View) -> float:
    """What a step waits for its samples; starting a copy to a GPU takes as long for any batch.

    On torch, the sampler draws the rows of a batch one by one: that grows with the batch.
    """
    wait = view.costs.parts.get("input_wait", 0.0)
    device = view.found(Device) if view.backend == "jax" else None
    if device is None or device.pick_ns is None:
        return wait
    copy, quarter, pick = device.transfer_ns, device.quarter_transfer_ns, device.pick_ns
    if copy is None or quarter is None:
        return wait
    wide, wide_pick, times = device.wide_transfer_ns, device.wide_pick_ns, device.wide_times
    if wide is not None and wide_pick is not None and times is not None:
        # From many batches at once: of a small one, nearly all is starting to copy and to pick.
        return min(wait, max(0.0, wide - copy + wide_pick - pick) / (times - 1.0))
    return min(wait, pick + max(0.0, copy - quarter) * 4 / 3)
