"""When loading explains what training loses."""

from __future__ import annotations

from input_context import MS, alone, fit_context

from fitdoctor.inside.lab.apparatus.slow_input import (
    MOST_WAITING,
    loading_explains_loss,
    slow_adapter,
    waits_for_more_threads,
)


class Adapter:
    pass


def test_a_step_that_explains_the_training_leaves_nothing_to_explain() -> None:
    assert not loading_explains_loss(fit_context(alone(90), step_ms=100, period_ms=102))
    assert not loading_explains_loss(fit_context(alone(90), period_ms=None))


def test_a_fast_loader_does_not_explain_what_is_lost() -> None:
    # 90 ms are lost; less than 30 % of them is something else.
    assert not loading_explains_loss(fit_context(alone(26)))
    assert loading_explains_loss(fit_context(alone(28)))


def test_the_start_of_each_epoch_is_part_of_loading() -> None:
    # 2 starts in 100 steps: 1 s each is 20 ms for every step.
    assert loading_explains_loss(fit_context(alone(10, first_ms=1000)))


def test_a_loader_that_could_not_be_timed_may_explain_it() -> None:
    assert loading_explains_loss(fit_context())


def test_only_the_kinds_that_are_asked_for() -> None:
    adapter = Adapter()
    context = fit_context(alone(80), kind="grain", adapter=adapter)
    assert slow_adapter(context, "tf.data", "PyDataset") is None
    assert slow_adapter(context, "grain") is adapter
    assert slow_adapter(fit_context(alone(1), kind="grain", adapter=adapter), "grain") is None
    assert slow_adapter(fit_context(alone(80), adapter=adapter), "grain") is None


def test_threads_are_for_loaders_that_wait() -> None:
    class Data:
        workers = 1

    assert not waits_for_more_threads(fit_context(), Data())
    assert not waits_for_more_threads(fit_context(alone(80, cores=0.9)), Data())
    assert waits_for_more_threads(fit_context(alone(80, cores=0.1)), Data())
    Data.workers = MOST_WAITING
    assert not waits_for_more_threads(fit_context(alone(80, cores=0.1)), Data())


def test_milliseconds_are_what_the_context_says() -> None:
    assert fit_context().step_ns == 10 * MS
