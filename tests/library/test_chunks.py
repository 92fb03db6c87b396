"""fitdoctor.from_generator: TensorFlow's elements, in their order, in fewer crossings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow")
np = pytest.importorskip("numpy")

import fitdoctor  # noqa: E402
from fitdoctor.inside.seams.inputs import chunked_rows as chunks  # noqa: E402


def elements(dataset: Any) -> list[list[tuple[str, tuple[int, ...], str]]]:
    return [
        [
            (str(x.dtype), tuple(x.shape), repr(np.asarray(x.numpy()).tolist()))
            for x in tf.nest.flatten(e)
        ]
        for e in dataset
    ]


SIGNATURES = {
    "scalar": (tf.TensorSpec((), tf.int64), lambda i: i),
    "pair": (
        (tf.TensorSpec((3,), tf.float32), tf.TensorSpec((1,), tf.float32)),
        lambda i: (np.full(3, i), [float(i)]),
    ),
    "named": (
        {"x": tf.TensorSpec((2, 2), tf.int32), "y": tf.TensorSpec((), tf.bool)},
        lambda i: {"y": i % 2 == 0, "x": [[i, 1], [2, 3]]},
    ),
    "text": (tf.TensorSpec((), tf.string), lambda i: f"é{i}" * (i % 3)),
    "nested": (
        (tf.TensorSpec((2,), tf.float64), {"a": tf.TensorSpec((), tf.uint8)}),
        lambda i: ((i, i / 3), {"a": i % 256}),
    ),
    "ragged": (tf.TensorSpec((None,), tf.int64), lambda i: np.arange(i % 4)),
}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(SIGNATURES)), st.integers(0, 200))
def test_the_elements_are_tensorflows(name: str, count: int) -> None:
    signature, element = SIGNATURES[name]

    def rows() -> Iterator[Any]:
        yield from map(element, range(count))

    ours = fitdoctor.from_generator(rows, output_signature=signature)
    plain = tf.data.Dataset.from_generator(rows, output_signature=signature)
    assert ours.element_spec == plain.element_spec
    assert elements(ours) == elements(plain)
    if name != "ragged":
        assert elements(ours.batch(7)) == elements(plain.batch(7))


def test_what_cannot_be_collected_is_left_to_tensorflow() -> None:
    def rows() -> Iterator[Any]:
        yield from range(5)

    signature, _ = SIGNATURES["ragged"]
    assert chunks.rows_in_one(tf, signature) == 1
    assert chunks.rows_in_one(tf, ()) == 1
    assert chunks.rows_in_one(tf, tf.TensorSpec((1024, 1024), tf.float32)) == 1
    old = fitdoctor.from_generator(rows, tf.int64, ())
    assert [int(x) for x in old] == [0, 1, 2, 3, 4]


def test_arguments_reach_the_generator() -> None:
    def rows(count: int) -> Iterator[Any]:
        yield from range(count)

    data = fitdoctor.from_generator(rows, args=(3,), output_signature=tf.TensorSpec((), tf.int64))
    assert [int(x) for x in data] == [0, 1, 2]


def test_many_rows_cross_at_once() -> None:
    handed = list(chunks.chunked(range(100), tf.TensorSpec((), tf.int64), 64))
    assert [len(one) for one in handed] == [64, 36]


def test_a_slow_generator_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(chunks.time, "perf_counter", lambda: float(next(now)))
    handed = list(chunks.chunked(range(3), tf.TensorSpec((), tf.int64), 64))
    assert [len(one) for one in handed] == [1, 1, 1]


def test_what_came_before_an_error_is_given() -> None:
    def rows() -> Iterator[Any]:
        yield from range(3)
        raise RuntimeError("the file ended early")

    seen = []
    data = fitdoctor.from_generator(rows, output_signature=tf.TensorSpec((), tf.int64))
    with pytest.raises(Exception, match="the file ended early"):
        for one in data:
            seen += [int(one)]
    assert seen == [0, 1, 2]


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ((np.zeros(4), 0.0), r"shape \(4,\), and output_signature \(3,\)"),
        ((np.zeros(3),), "an element has 1 parts, and output_signature 2"),
    ],
)
def test_a_wrong_element_says_what_is_wrong(element: Any, reason: str) -> None:
    signature = (tf.TensorSpec((3,), tf.float32), tf.TensorSpec((), tf.float32))
    with pytest.raises(TypeError, match=reason):
        list(chunks.chunked(iter([element]), signature, 64))
