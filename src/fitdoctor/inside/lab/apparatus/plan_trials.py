"""Joint plans of a tf.data pipeline: which moves keep its elements, and which plan wins."""

from __future__ import annotations

import math
import os
import time

from fitdoctor.contract.evidence.plans import InputPlans, TriedPlan
from fitdoctor.contract.limits import MEMORY_SHARE, NS_PER_S
from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.pipeline_bench import ChangedFields, PipelineBench
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.inputs import tf_plan
from fitdoctor.inside.seams.inputs.tf_edits import Agreement
from fitdoctor.inside.seams.inputs.tf_stages import Stage
from fitdoctor.planning.bounds import Machine, Step
from fitdoctor.planning.chain import ChainStage, Move, moved, moves
from fitdoctor.planning.proposals import PARALLEL, KnownOrder, Proposal, elements_after, proposals

# Planning a pipeline whose stages were timed takes no longer than this.
BUDGET_S = 12.0
MOST_TRIED = 6
# Rows on which two orders are compared: as many as come within this time.
ROWS, FEWEST_ROWS, ROWS_S = 64, 4, 1.0
MOST_CACHED = 2**30  # bytes, in a trial
FILL_S = 1.0
_NO = Agreement(same=False, close=False)


class PlanTrials:
    """One pipeline whose stages were timed."""

    def __init__(self, bench: PipelineBench, step: Step, free_bytes: float | None = None) -> None:
        self._bench = bench
        self.chain = tf_plan.chain_of(bench.stages)
        self._step = step
        self._free = available_bytes() if free_bytes is None else free_bytes
        self._machine = Machine(len(os.sched_getaffinity(0)), self._free)
        self._stages = {one.number: self._measured(one) for one in self.chain.stages}
        self.declined: list[str] = []

    # -- what is known of each stage -----------------------------------------------

    def _measured(self, stage: Stage) -> ChainStage:
        ablation = self._bench.ablation
        if stage.number not in ablation.times:
            return ChainStage(stage.number, stage.op, random=stage.random, calls=stage.parallel)
        row, settings = ablation.row(stage), stage.settings
        # Wall without CPU where the whole does not wait is the noise of a difference.
        waits = self._bench.reads_wait() and stage.op in PARALLEL
        in_flight = 1 if stage.parallel in (None, 1) else self._machine.cores
        wait = max(0.0, row.own_ns * in_flight - row.own_cpu_ns) if waits else 0.0
        return ChainStage(
            number=stage.number,
            op=stage.op,
            cpu_ns=float(row.own_cpu_ns),
            wait_ns=wait,
            per_batch=row.per_batch,
            element_bytes=row.element_bytes,
            elements=self._elements(stage),
            python=stage.python,
            random=stage.random,
            cacheable=self._is_steady(stage),
            calls=stage.parallel,
            setting=next(
                (
                    settings[name]
                    for name in ("batch_size", "buffer_size", "count")
                    if name in settings
                ),
                0,
            ),
        )

    def _elements(self, stage: Stage) -> float | None:
        """In one pass; of an unknown number, what was counted of a known one."""
        ablation, count = self._bench.ablation, 1.0
        while True:
            known = int(stage.dataset.cardinality().numpy())
            if known == -1:
                return None  # endless
            if known >= 0:
                return known * count
            if stage.op != "filter" or stage.number not in ablation.per_batch:
                return None
            source = self._bench.stages[stage.inputs[0]]
            needed = ablation.per_batch.get(source.number)
            if not needed:
                return None
            count *= ablation.per_batch[stage.number] / needed
            stage = source

    def _is_steady(self, stage: Stage) -> bool:
        """Whether this stage and all that it reads give the same in every pass."""
        above = self._bench.up_to(stage)
        if not all(map(tf_plan.is_steady, self._all_above(stage))):
            return False
        return not any(s.python for s in above) or self._bench.repeats(stage)

    def _all_above(self, stage: Stage) -> list[Stage]:
        """A stage and all that it reads, over all branches."""
        read = [self._bench.stages[number] for number in stage.inputs]
        return [stage, *(above for one in read for above in self._all_above(one))]

    # -- orders --------------------------------------------------------------------

    def orders(self) -> list[KnownOrder]:
        """The order as written, then others that gave the same elements here."""
        known = KnownOrder(self.chain.order)
        found = [known]
        for kinds in ({"filter", "skip", "smaller", "batch"}, {"shuffle"}):
            known = self._as_far_as_it_goes(known, kinds, close=False)
            found.append(known)
        found.append(self._as_far_as_it_goes(found[1], {"batch", "smaller"}, close=True))
        return list(dict.fromkeys(found))

    def _as_far_as_it_goes(self, known: KnownOrder, kinds: set[str], *, close: bool) -> KnownOrder:
        refused: set[Move] = set()
        begin = time.perf_counter()
        while time.perf_counter() - begin < BUDGET_S / 3:
            wanted = moves(self._stages, known.order)
            move = next((m for m in wanted if m.kind in kinds and m not in refused), None)
            if move is None:
                break
            after = moved(known.order, move)
            agreed = self._agreement(known.order, after, move)
            if not (agreed.same or (close and agreed.close)):
                refused.add(move)
                self._decline(move, agreed)
                continue
            keeps_order = known.keeps_order and move.kind != "shuffle"
            known = KnownOrder(after, known.same and agreed.same, keeps_order)
        return known

    def _decline(self, move: Move, agreed: Agreement) -> None:
        later = self.chain.stage(move.past)
        why = "gives others" if not agreed.close else "rounds otherwise"
        text = f"{later.op} before the map at {_place(self.chain.stage(move.stage))} {why}"
        if text not in self.declined:
            self.declined.append(text)

    def _agreement(self, before: tuple[int, ...], after: tuple[int, ...], move: Move) -> Agreement:
        """Whether the part of the chain that changes gives the same for the same elements."""
        changed = [n for n, m in zip(before, after, strict=True) if n != m]
        part = before[before.index(changed[0]) : before.index(changed[-1]) + 1]
        moved_part = after[before.index(changed[0]) : before.index(changed[-1]) + 1]
        above = before[before.index(changed[-1]) + 1 :]
        try:
            source = tf_plan.up_to(self.chain, above, above[0]) if above else self.chain.base
            iterators = self._bench.iterators
            rows = tf_plan.held_rows(source, self._rows(move), iterators.open)
            one = tf_plan.applied(self.chain, part, rows)
            other = tf_plan.applied(self.chain, moved_part, rows)
            must_drop = self._rows(move) if move.kind == "filter" else None
            agreed = tf_plan.agreement(one, other, iterators.open, must_drop=must_drop)
        except Exception:  # noqa: BLE001 - a user's function may fail on what it was not made for
            return _NO
        is_python = self.chain.stage(move.stage).python or self.chain.stage(move.past).python
        # What Python does beside its result is not seen.
        return Agreement(agreed.same and not is_python, agreed.close)

    def _rows(self, move: Move) -> int:
        """Elements to compare: as many as time allows, for a batch a whole one at least."""
        timing = self._bench.ablation.times.get(move.stage)
        soon = ROWS if timing is None else int(ROWS_S * NS_PER_S / max(1.0, timing.ns))
        rows = max(FEWEST_ROWS, min(ROWS, soon))
        if move.kind != "batch":
            return rows
        size = self._stages[move.past].setting
        return 2 * size if 2 * size <= soon else size

    # -- trials --------------------------------------------------------------------

    def run(self) -> InputPlans:
        """The plans that promise most, each read for a moment."""
        begin = time.perf_counter()
        wanted = proposals(self._stages, self.orders(), self._machine, self._step)
        tried: list[TriedPlan] = []
        for proposal in _varied(wanted)[:MOST_TRIED]:
            if time.perf_counter() - begin > BUDGET_S:
                break
            try:
                tried.append(self._tried(proposal))
            except Exception as error:  # noqa: BLE001 - a user's pipeline may refuse a change
                self.declined.append(f"{type(error).__name__}: {str(error)[:80]}")
        if not tried and not self.declined:
            raise NotAvailable("nothing about this pipeline is worth changing")
        taken = time.perf_counter() - begin
        return InputPlans(
            rows=tuple(tried),
            available_bytes=None if self._free is None else int(self._free),
            declined=tuple(self.declined),
            seconds=taken,
        )

    def _tried(self, proposal: Proposal) -> TriedPlan:
        plan = proposal.plan
        reorders = [n for n in plan.calls_of if not tf_plan.keeps_order(self.chain.stage(n))]
        fields, kept_bytes = self._timed(proposal)
        return TriedPlan(
            **fields,
            plan=plan,
            same=proposal.same,
            keeps_order=proposal.keeps_order and not reorders and self._cache_keeps_order(proposal),
            redraws=proposal.redraws,
            cache_bytes=kept_bytes,
        )

    def _cache_keeps_order(self, proposal: Proposal) -> bool:
        """A cache after what comes in another order each time keeps that of the first pass."""
        if proposal.plan.cache_after is None:
            return True
        return not any(one.reorders for one in self._bench.up_to(self.chain.stages[-1]))

    def _timed(self, proposal: Proposal) -> tuple[ChangedFields, float | None]:
        plan = proposal.plan
        with_pool = plan.pool is None
        if plan.cache_after is None:
            dataset = tf_plan.carried_out(self.chain, plan)
            return self._bench.timed(dataset, options=with_pool), None
        kept = self._stages[plan.cache_after]
        per_batch = elements_after(self._stages, plan.order, plan.cache_after)
        size = (kept.element_bytes or 0.0) * kept.per_batch / per_batch
        most = min(MOST_CACHED, MEMORY_SHARE * (self._free or MOST_CACHED))
        batch_ns = self._bench.batch_ns
        batches = max(2.0, FILL_S * NS_PER_S / max(1.0, batch_ns))
        count = int(max(1.0, min(batches * per_batch, most / max(1.0, size))))
        if kept.elements is not None:
            in_all = kept.elements * per_batch / kept.per_batch
            count = max(1, min(count, math.floor(in_all)))
        fields = self._bench.timed(
            tf_plan.carried_out(self.chain, plan, cached=count),
            skip_s=1.3 * count / per_batch * batch_ns / NS_PER_S,
            skip=math.ceil(count / per_batch),
            options=with_pool,
        )
        fields["first_ns"] = 0  # of a full cache; here the first batch was still being made
        whole = None if kept.elements is None else (kept.element_bytes or 0.0) * kept.elements
        return fields, whole


def _varied(wanted: list[Proposal]) -> list[Proposal]:
    """The best of each kind first: what the bounds do not know of shows in a trial."""
    kinds: dict[tuple[object, ...], list[Proposal]] = {}
    for one in wanted:
        kind = (one.plan.order, one.plan.cache_after is None, one.redraws)
        kinds.setdefault(kind, []).append(one)
    firsts = [group[0] for group in kinds.values()]
    return [*firsts, *(one for group in kinds.values() for one in group[1:])]


def _place(stage: Stage) -> str:
    return "an unknown line" if stage.place is None else f"line {stage.place.line}"
