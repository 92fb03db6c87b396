"""What a group of repeated calls is."""

from __future__ import annotations

import pytest

from fitdoctor.contract.groups import is_group


@pytest.mark.parametrize(
    ("kind", "calls", "steps", "expected"),
    [
        ("predict", 7, 7, False),
        ("predict", 8, 32, True),
        ("fit", 8, 33, False),
        ("train_on_batch", 1, 1, False),
        ("train_on_batch", 2, 2, True),
    ],
)
def test_many_calls_of_a_few_steps(kind: str, calls: int, steps: int, expected: bool) -> None:
    assert is_group(kind, calls, steps) is expected
