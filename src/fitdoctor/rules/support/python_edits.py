"""What an edit gives of Python that makes the batches, where no one rewrites the Python."""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Memoise
from fitdoctor.findings.finding import Cure, Finding, Where
from fitdoctor.inside.lab.apparatus.memory import MEMORY_SHARE
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import saved_by, saved_by_trial
from fitdoctor.rules.input.recomputed_preprocessing import cached_bytes, is_read_again
from fitdoctor.rules.support.places import cached_after
from fitdoctor.rules.support.processes import by_processes
from fitdoctor.units import size

WORTH_KEEPING = 1.15


def by_edit(view: View, found: Finding) -> Finding | None:
    """The best that an edit gives of it, where no one rewrites the Python."""
    if found.cure.edits:
        return None
    ways = (by_processes(view, found), _kept(view, found), _memoised(view, found))
    priced = [one for one in ways if one is not None and one.gain.value >= WORTH_KEEPING]
    return max(priced, key=lambda one: one.gain.value, default=None)


def _memoised(view: View, found: Finding) -> Finding | None:
    """What keeping the batches of a PyDataset gives, where each was the same when made again."""
    same, made, floor = (
        view.result("same_batches"),
        view.result("in_process"),
        view.probe_ns("adapter_floor"),
    )
    if not same or not made or floor is None or view.passes == 1:
        return None
    if not same["same"] or same["hooks"] or not same["hashable"]:
        return None
    if (made.get("native") or {}).get("random") or view.input.get("use_multiprocessing"):
        return None
    kept, free = made["payload_bytes"] * same["length"], same["available_bytes"]
    file, line = view.input.get("file"), view.input.get("line")
    if free is None or kept > MEMORY_SHARE * free or not file or not line:
        return None
    saved = saved_by(view, floor, overlapped=False, lock_is_freed=True, under_lock=floor)
    text = f"keep its batches ({size(kept)}) from the second epoch on: @functools.cache above it"
    return replace(
        found,
        gain=gain(view.costs.total, saved),
        cure=Cure("unsafe", text, (Memoise(Where(str(file), int(line)), "__getitem__"),)),
        saves={"input_wait": saved},
    )


def _kept(view: View, found: Finding) -> Finding | None:
    """What a cache behind the Python gives, where two passes were the same bit for bit."""
    trial = view.trial("trial_cache_python")
    if trial is None or not is_read_again(view, trial):
        return None
    stage = view.stage(int(trial.data["stage"]))
    kept, free = cached_bytes(view, trial), trial.data.get("available_bytes")
    if stage is None or kept is None or free is None or kept > MEMORY_SHARE * free:
        return None
    saved = saved_by_trial(view, trial)
    priced, edits = gain(view.costs.total, saved), cached_after(view, stage)
    if not edits:
        return None
    text = f"keep what it makes ({size(kept)}) from the second epoch on: .cache() behind it"
    return replace(
        found, gain=priced, cure=Cure("unsafe", text, edits), saves={"input_wait": saved}
    )
