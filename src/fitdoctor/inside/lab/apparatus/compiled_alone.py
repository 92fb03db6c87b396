"""A compiled function called again and again: a layer, or an update, by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.seams.backends.base import Backend

ALONE_SECONDS = 0.4


def timed_alone(backend: Backend, run: Callable[[], Any]) -> Windows:
    """Windows of the calls; the last one of each window is waited for."""
    last: list[Any] = [run()]

    def work() -> None:
        last[0] = run()

    def wait() -> None:
        if backend.name != "tensorflow":
            backend.wait_for(last[0])

    wait()
    return measure(work, wait, seconds=ALONE_SECONDS)
