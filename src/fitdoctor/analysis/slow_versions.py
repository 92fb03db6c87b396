"""Versions of Keras that are known to compute a layer slowly, each row with its source.

A row needs a merged change that says what was slow; a factor only where that change states one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class SlowVersion:
    """From `since` on (if it was not always so) and before `fixed`."""

    backend: str
    layer: str
    fixed: str  # the first version without it
    change: str  # number in keras-team/keras
    what: str
    since: str = "3.0"
    device: str = "gpu"
    factor: float | None = None  # times as fast, as the change says


SLOW_VERSIONS = (
    SlowVersion(
        backend="jax",
        layer="LSTM",
        fixed="3.14",
        change="#22399",
        what="steps through the sequence in a scan instead of calling cuDNN",
        factor=5.0,  # of one layer, by JAX's own benchmarks that the change names
    ),
    SlowVersion(
        backend="torch",
        layer="LSTM",
        fixed="3.14",
        change="#22279",
        what="copies its outputs to the CPU, or leaves cuDNN without a word",
    ),
    SlowVersion(
        backend="torch",
        layer="LSTM",
        since="3.14",
        fixed="3.15",
        change="#22874",
        what="fails to call cuDNN and steps through the sequence in Python",
    ),
)


def slow_versions(version: str | None, backend: str, device: str | None) -> tuple[SlowVersion, ...]:
    """The rows that an installed Keras is in; none where its version is not known."""
    installed = _numbers(version)
    if installed is None:
        return ()
    return tuple(
        row
        for row in SLOW_VERSIONS
        if (row.backend, row.device) == (backend, device)
        and (_numbers(row.since) or ()) <= installed < (_numbers(row.fixed) or ())
    )


def _numbers(version: str | None) -> tuple[int, ...] | None:
    found = _NUMBERS.match(version or "")
    return None if found is None else tuple(int(one) for one in found[0].split("."))
