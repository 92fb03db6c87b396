"""The length that batches of like rows would have."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fitdoctor.inside.lab.probes import padding
from fitdoctor.inside.lab.probes.padding import boundaries, bucketed

LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("lengths", "expected"), [([1, 2, 3, 4, 5, 6], 4), ([33, 64, 64, 500], 173), ([7], 7)]
)
def test_rows_of_a_sample_are_as_long_as_the_longest_of_their_bucket(
    lengths: list[int], expected: int
) -> None:
    assert bucketed(lengths, rows=1) == expected


def test_one_long_row_makes_a_batch_of_its_own() -> None:
    lengths = [60] * 799 + [500]
    assert bucketed(lengths, rows=1) == 61
    assert bucketed(lengths, rows=32) == 80  # 25 batches of 60, and one of 500


@given(LENGTHS, st.integers(1, 64))
def test_no_bucket_is_shorter_than_its_rows(lengths: list[int], rows: int) -> None:
    assert bucketed(lengths, rows) >= round(sum(lengths) / len(lengths))


@given(LENGTHS)
def test_every_boundary_parts_some_rows_from_others(lengths: list[int]) -> None:
    edges = [0, *boundaries(lengths), 1000]
    assert edges == sorted(set(edges))
    for low, high in pairwise(edges):
        assert any(low <= length < high for length in lengths)


def test_arrays_are_looked_at_as_a_whole() -> None:
    x = np.zeros((8, 20), "int32")
    assert padding._whole_arrays(x) == (x,)
    assert padding._whole_arrays({"words": x})[0]["words"] is x


def test_what_is_no_array_or_too_large_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert padding._whole_arrays(None) is None
    assert padding._whole_arrays(iter([1])) is None
    monkeypatch.setattr(padding, "WHOLE_SIZE", 100)
    assert padding._whole_arrays(np.zeros((8, 20))) is None
