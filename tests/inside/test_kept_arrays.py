"""Arrays that a loop hands to its compiled step again and again."""

from __future__ import annotations

import numpy as np
import pytest

from fitdoctor.inside.ledger.loop_watch import FunctionCall
from fitdoctor.inside.seams.inputs.kept_arrays import LARGE_BYTES, kept, large_arrays, placing
from fitdoctor.inside.seams.not_available import NotAvailable

TABLE = np.zeros(LARGE_BYTES // 4, "float32")


def call(*args: object) -> FunctionCall:
    return FunctionCall(None, args, {})


def test_no_call_has_no_arrays() -> None:
    assert large_arrays(None) == []


def test_small_arrays_and_tensors_do_not_count() -> None:
    assert large_arrays(call(np.zeros(8), [1, "a"], object())) == []


def test_arrays_inside_of_lists_are_seen() -> None:
    assert large_arrays(call([{"table": TABLE}])) == [TABLE]


def test_another_array_in_every_call_is_a_batch() -> None:
    assert kept([TABLE], [TABLE.copy()]) == []


def test_the_same_array_in_every_call_is_kept() -> None:
    assert kept([TABLE], [TABLE.copy(), TABLE])[0] is TABLE


def test_torch_takes_no_arrays() -> None:
    with pytest.raises(NotAvailable):
        placing("torch", [TABLE])


def test_only_these_arrays_are_handed_over() -> None:
    import jax

    place = placing("jax", [TABLE])
    assert isinstance(place(TABLE), jax.Array)
    other = TABLE.copy()
    assert place(other) is other
