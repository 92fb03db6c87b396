"""Which moves are worth asking for, and which plans are worth a trial."""

from __future__ import annotations

from fitdoctor.planning.bounds import Machine, Step
from fitdoctor.planning.chain import ChainStage, Move, moved, moves
from fitdoctor.planning.proposals import AUTOTUNE, KnownOrder, proposals

MS = 1e6


def chain(*stages: ChainStage) -> dict[int, ChainStage]:
    return {one.number: one for one in stages}


def batch(number: int = 0, size: int = 32, **more: float) -> ChainStage:
    return ChainStage(number, "batch", 0.1 * MS, setting=size, **more)  # type: ignore[arg-type]


def order_of(stages: dict[int, ChainStage]) -> tuple[int, ...]:
    return tuple(sorted(stages))


def decoded(*, dropped: float, random: bool = False) -> dict[int, ChainStage]:
    """A filter after a costly decoder, and the source's map."""
    return chain(
        batch(),
        ChainStage(1, "filter", 0.1 * MS, per_batch=32),
        ChainStage(2, "map", 60 * MS, per_batch=32 / (1 - dropped), random=random),
        ChainStage(3, "map", 0.1 * MS, per_batch=32 / (1 - dropped)),
    )


# -- moves -------------------------------------------------------------------------


def test_a_filter_that_drops_nothing_stays() -> None:
    stages = decoded(dropped=0.0)
    assert not [one for one in moves(stages, order_of(stages)) if one.kind == "filter"]


def test_random_work_is_never_moved() -> None:
    stages = decoded(dropped=0.75, random=True)
    assert moves(stages, order_of(stages)) == []


def test_a_filter_comes_before_the_work_that_it_drops() -> None:
    stages = decoded(dropped=0.75)
    move = moves(stages, order_of(stages))[0]
    assert move == Move(2, 1, "filter")
    assert moved(order_of(stages), move) == (0, 2, 1, 3)


def test_long_work_is_not_batched_first() -> None:
    short = chain(batch(), ChainStage(1, "map", 1 * MS, per_batch=32))
    long = chain(batch(), ChainStage(1, "map", 40 * MS, per_batch=32))
    assert moves(short, (0, 1)) == [Move(1, 0, "batch")]
    assert moves(long, (0, 1)) == []
    assert moves(chain(batch(size=1), short[1]), (0, 1)) == []


def test_a_map_moves_past_what_hands_on_to_the_batch() -> None:
    stages = chain(
        batch(), ChainStage(1, "shuffle", setting=10), ChainStage(2, "map", 1 * MS, per_batch=32)
    )
    move = Move(2, 0, "batch")
    assert move in moves(stages, (0, 1, 2))
    assert moved((0, 1, 2), move) == (2, 0, 1)


def test_what_makes_elements_smaller_comes_before_work_on_them() -> None:
    def stages(size: int) -> dict[int, ChainStage]:
        return chain(
            ChainStage(1, "map", 1 * MS, per_batch=32, element_bytes=size),
            ChainStage(2, "map", 20 * MS, per_batch=32, element_bytes=4000),
            ChainStage(3, "map", 1 * MS, per_batch=32, element_bytes=1000),
        )

    assert Move(2, 1, "smaller") in moves(stages(400), (1, 2, 3))
    assert Move(2, 1, "smaller") not in moves(stages(40_000), (1, 2, 3))


# -- plans -------------------------------------------------------------------------


def decode(*, element_bytes: float | None = 1e5, elements: float | None = 1000, **more: bool):
    return chain(
        batch(cacheable=True, element_bytes=element_bytes, elements=elements),
        ChainStage(
            1,
            "map",
            60 * MS,
            per_batch=32,
            cacheable=True,
            element_bytes=element_bytes,
            elements=elements,
            **more,
        ),
    )


def planned(stages: dict[int, ChainStage], step_ms: float = 2.0, **more: object):
    orders = [KnownOrder(order_of(stages)), *more.get("orders", ())]  # type: ignore[misc]
    return proposals(stages, orders, Machine(2, 8e9), Step(step_ms * MS))


def test_nothing_is_proposed_where_nothing_would_change() -> None:
    stages = chain(ChainStage(0, "map", 1 * MS))
    assert planned(stages, step_ms=10.0) == []


def test_a_cache_after_the_work_where_it_fits() -> None:
    best = planned(decode())[0]
    assert best.plan.cache_after == 0  # whole batches: nothing is shuffled
    assert best.ns == 2 * MS
    assert best.is_safe


def test_no_cache_where_it_does_not_fit_or_its_size_is_unknown() -> None:
    assert all(one.plan.cache_after is None for one in planned(decode(elements=1e6)))
    assert all(one.plan.cache_after is None for one in planned(decode(element_bytes=None)))


def test_no_cache_after_random_work_and_calls_for_it_are_not_safe() -> None:
    found = planned(decode(random=True))
    assert all(one.plan.cache_after is None for one in found)
    (parallel,) = (one for one in found if one.plan.calls)
    assert parallel.plan.calls_of == {1: AUTOTUNE}
    assert parallel.redraws
    assert not parallel.is_safe


def test_batches_that_are_shuffled_are_cached_before_that() -> None:
    stages = decode()
    shuffled = {0: stages[0], 1: ChainStage(1, "shuffle"), 2: ChainStage(2, *_rest(stages[1]))}
    points = {one.plan.cache_after for one in planned(shuffled)}
    assert points <= {None, 2}
    assert 2 in points


def _rest(stage: ChainStage) -> tuple[object, ...]:
    return tuple(vars(stage).values())[1:]


def test_no_cache_before_a_take() -> None:
    stages = decode()
    taken = {0: ChainStage(0, "take", setting=4), 1: batch(1), 2: ChainStage(2, *_rest(stages[1]))}
    assert all(one.plan.cache_after is None for one in planned(taken))


def test_reads_that_wait_get_calls_and_threads() -> None:
    stages = chain(batch(), ChainStage(1, "map", 1 * MS, wait_ns=128 * MS, per_batch=32))
    best = planned(stages, step_ms=10.0)[0]
    assert best.plan.calls_of == {1: 16}
    assert best.plan.pool == 16


def test_work_after_a_filter_counts_for_what_is_left() -> None:
    stages = decoded(dropped=0.75)
    early = KnownOrder((0, 2, 1, 3))
    found = planned(stages, orders=[early])
    moved_first = next(one for one in found if one.plan.order == early.order)
    assert moved_first.ns < 20 * MS


def test_of_equal_promises_a_safe_plan_comes_first() -> None:
    stages = chain(batch(), ChainStage(1, "map", 1 * MS, per_batch=32))
    rounded = KnownOrder((1, 0), same=False)
    exact = KnownOrder((1, 0))
    found = planned(stages, orders=[rounded, exact])
    assert next(one.same for one in found if one.plan.order == (1, 0))
