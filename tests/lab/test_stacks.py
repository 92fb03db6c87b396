"""Whose code runs: threads that ran before a probe began are not what it looks at."""

from __future__ import annotations

import threading
import time

import pytest

from fitdoctor.inside.lab.apparatus.stacks import StackSampler, in_user_code

pytestmark = pytest.mark.measures  # shares of real time

# This test stands where a probe would: in a probe, the thread that calls fit is cut off there.
ME = threading.get_ident()


def running(stop: threading.Event) -> threading.Thread:
    thread = threading.Thread(target=lambda: stop.wait(10), daemon=True)
    thread.start()
    return thread


def test_a_thread_that_was_there_before_is_not_seen() -> None:
    stop = threading.Event()
    monitor = running(stop)
    try:
        others = in_user_code()
        assert monitor.ident in others
        with StackSampler(0.001, ignoring=others | {ME}) as sampler:
            time.sleep(0.05)
        with StackSampler(0.001, ignoring=frozenset({ME})) as all_of_them:
            time.sleep(0.05)
    finally:
        stop.set()
        monitor.join()
    assert sampler.result().user_share == 0.0
    assert all_of_them.result().user_share > 0.9


def test_a_thread_that_the_probe_starts_is_seen() -> None:
    others, stop = in_user_code(), threading.Event()
    loader = running(stop)
    try:
        with StackSampler(0.001, ignoring=others | {ME}) as sampler:
            time.sleep(0.05)
    finally:
        stop.set()
        loader.join()
    assert sampler.result().user_share > 0.9
