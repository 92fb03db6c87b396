"""All cures of one tf.data pipeline together, as they were tried: one cure with one gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.plans import InputPlan, InputPlans, TriedPlan
from fitdoctor.contract.limits import MEMORY_SHARE
from fitdoctor.findings.edits import TENSORFLOW, ArrangeCalls, Edit
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import Where, line_of
from fitdoctor.pricing import loading
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.support.places import cached_after, parallel_calls, pool_size
from fitdoctor.units import duration

RULE = "plan"
# A plan that gains no more than this beyond the best single cure is not worth more changes.
WORTH_MORE = 1.05
# Of plans that are nearly as good, a safe one comes first.
AS_GOOD = 0.97


def input_plan(view: View, findings: Sequence[Finding]) -> Finding | None:
    """The best plan that was tried, as one cure; None where a single cure does as much.

    The plan that keeps the training the same comes first, a faster one that may not in `also`.
    """
    found = view.found(InputPlans)
    if found is None or view.loader is None or not loading.input_is_slow(view):
        return None
    plans = [
        one
        for row in found.rows
        if _is_possible(view, row, found.available_bytes)
        and (one := _as_finding(view, row)) is not None
    ]
    plans = sorted(plans, key=lambda one: -one.gain.value)
    if not plans or plans[0].gain.value < WORTH_GAIN:
        return None
    best = _best(plans)
    singles = [one.as_edited.gain.value for one in findings if one.rule.startswith("IN")]
    if max(one.gain.value for one in best) < WORTH_MORE * max(singles, default=1.0):
        return None
    return replace(best[0], also=tuple(best[1:]))


def _best(plans: Sequence[Finding]) -> list[Finding]:
    """The best safe one, and the best of all where that gains more."""
    fastest = plans[0]
    safe = next((one for one in plans if one.cure.safety == "safe"), None)
    if safe is None:
        return [fastest]
    is_enough = safe is fastest or safe.gain.value >= AS_GOOD * fastest.gain.value
    return [safe] if is_enough or safe.gain.value < WORTH_GAIN else [safe, fastest]


def _is_possible(view: View, row: TriedPlan, free: int | None) -> bool:
    """Whether a cache is read more than once, and fits."""
    after = row.plan.cache_after
    if after is None:
        return True
    size = row.cache_bytes if row.cache_bytes is not None else _pass_bytes(view, after)
    if view.passes == 1 or size is None or free is None:
        return False
    return size <= MEMORY_SHARE * free


def _pass_bytes(view: View, number: int) -> float | None:
    stage, steps = view.stage(number), view.steps_per_epoch
    if stage is None or stage.element_bytes is None or stage.per_batch is None or steps is None:
        return None
    return stage.element_bytes * stage.per_batch * steps


def _as_finding(view: View, row: TriedPlan) -> Finding | None:
    trial, loader = view.trial_from(row), view.loader
    if trial is None or loader is None or trial.left.value >= 1.0:
        return None
    saved = loading.saved_by_trial(view, trial)
    edits = plan_edits(view, row.plan)
    return Finding(
        rule=RULE,
        name="input-plan",
        where=edits[0].where if edits else None,
        message=f"one batch takes {duration(loader.ns.value)}, "
        f"{duration(trial.ns.value)} with all of this together",
        gain=gain(view.costs.total, saved),
        cure=Cure(_safety(row), plan_words(view, row.plan), edits),
        saves={"input_wait": saved},
        how="tried",
        evidence={
            "loader_ns": round(loader.ns.value),
            "loader_after_ns": round(trial.ns.value),
            "frozen_step_ns": round(view.ceiling_step.value),
        },
    )


def _safety(row: TriedPlan) -> Safety:
    return "safe" if row.same and row.keeps_order and not row.redraws else "unsafe"


def plan_words(view: View, plan: InputPlan) -> str:
    """What the plan changes, in the order of the pipeline."""
    written = sorted(plan.order, reverse=True)
    words = []
    if list(reversed(plan.order)) != written:
        names = [_name(view.stage(number)) for number in reversed(plan.order)]
        words.append("the order " + ", ".join(names))
    words += [
        f"{'AUTOTUNE' if count < 0 else count} calls of {_name(view.stage(number))}"
        for number, count in plan.calls
    ]
    if plan.pool:
        words.append(f"{plan.pool} threads")
    if plan.cache_after is not None:
        words.append(f".cache() after {_name(view.stage(plan.cache_after))}")
    return "; ".join(words)


def _name(stage: StageCost | None) -> str:
    if stage is None:
        return "a stage"
    return f"{stage.op} (line {stage.line})" if stage.line is not None else stage.op


def plan_edits(view: View, plan: InputPlan) -> tuple[Edit, ...]:
    """The plan as edits of the source; none where one of them has no place.

    Keywords and options first: the lines of calls are those recorded until calls are moved.
    """
    edits: list[Edit] = []
    for number, count in plan.calls:
        stage = view.stage(number)
        if stage is None or stage.op != "map":
            return ()  # an interleave's order depends on its other arguments
        text = "tf.data.AUTOTUNE" if count < 0 else str(count)
        made = parallel_calls([stage], text, (TENSORFLOW,) if count < 0 else ())
        if not made:
            return ()
        edits += made
    if plan.pool:
        pool = pool_size(view.stage(_outside(plan)), plan.pool)
        if not pool:
            return ()
        edits += pool
    arranged = _arranged(view, plan)
    return () if arranged is None else (*edits, *arranged)


def _changed_part(plan: InputPlan) -> list[int]:
    """The stages between the first and the last that are elsewhere, the first one first."""
    written = sorted(plan.order)
    elsewhere = [at for at, n in enumerate(plan.order) if n != written[at]]
    return written[elsewhere[0] : elsewhere[-1] + 1][::-1] if elsewhere else []


def _outside(plan: InputPlan) -> int:
    """A stage that stays where it is, for what may be given anywhere; the last one if none does."""
    part = _changed_part(plan)
    stays = [number for number, _ in plan.calls if number not in part]
    return next(iter([*stays, *(n for n in plan.order if n not in part), plan.order[0]]))


def _arranged(view: View, plan: InputPlan) -> tuple[Edit, ...] | None:
    """The moves and the cache; None where a place is not known."""
    part, cached = _changed_part(plan), plan.cache_after
    stage = None if cached is None else view.stage(cached)
    if not part:
        made = () if stage is None else cached_after(view, stage)
        return None if stage is not None and not made else made
    before: tuple[Edit, ...] = ()
    if stage is not None and stage.n not in part:
        before = cached_after(view, stage)
        if not before:
            return None
    stages = [view.stage(number) for number in part]
    places: list[tuple[Where, str]] = []
    for one in stages:
        where = None if one is None or one.via else line_of(one)
        if one is None or where is None:
            return None
        places.append((where, one.op))
    if len({where.file for where, _ in places}) != 1:
        return None
    wanted = [n for n in reversed(plan.order) if n in part]
    return (
        *before,
        ArrangeCalls(
            places[0][0],
            tuple((where.line, op) for where, op in places),
            tuple(part.index(n) for n in wanted),
            part.index(cached) if cached in part else None,
        ),
    )
