"""Same data, same learning? On runs made up for the purpose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from hypothesis.extra import numpy as hnp

from fitdoctor.contract.learning import Batch
from fitdoctor.inside.proof.fingerprint import fingerprint
from fitdoctor.proof.equivalence import (
    array_difference,
    compare,
    compare_data,
    relative_difference,
    with_repetition,
)
from fitdoctor.proof.learned import OUTPUTS, Learned


def batches(*samples: list[int]) -> tuple[Batch, ...]:
    """Batches of numbers, fingerprinted as the recorder does."""
    found = [fingerprint([np.array(sample, "float32")[:, None]]) for sample in samples]
    return tuple(one for one in found if one is not None)


def learned(
    data: tuple[Batch, ...] = (),
    losses: list[float] | None = None,
    weights: dict[str, list[float]] | None = None,
    **more: object,
) -> Learned:
    values = {n: np.array(v, "float32") for n, v in (weights or {}).items()}
    series = {number + 1: loss for number, loss in enumerate(losses or [])}
    fields: dict[str, object] = {"steps": len(data) or len(series), "outputs": (), **more}
    return Learned(batches=data, losses=series, weights=values, **fields)  # type: ignore[arg-type]


# -- data ----------------------------------------------------------------------------


def test_nothing_seen_is_not_checked() -> None:
    assert compare_data(learned(), learned())[0] == "not-checked"
    verdict, detail = compare_data(learned(batches([1])), learned())
    assert verdict == "not-checked"
    assert "B" in detail


def test_other_samples_are_different_and_named() -> None:
    a, b = learned(batches([1, 2], [3, 4])), learned(batches([1, 2], [3, 5]))
    verdict, detail = compare_data(a, b)
    assert verdict == "different"
    assert "batch 2" in detail


def test_a_sample_seen_twice_is_not_the_same_multiset() -> None:
    a, b = learned(batches([1, 2], [3, 4])), learned(batches([1, 2], [3, 3]))
    assert compare_data(a, b)[0] == "different"


def test_fewer_batches_are_different() -> None:
    a = learned(batches([1, 2], [3, 4]))
    b = learned(batches([1, 2]), steps=2)
    assert compare_data(a, b)[0] == "different"


def test_the_same_batches_are_identical() -> None:
    assert compare_data(learned(batches([1, 2])), learned(batches([1, 2])))[0] == "identical"


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=40), st.randoms(), st.integers(1, 7))
def test_any_order_and_division_is_the_same_multiset(
    samples: list[int], random: object, size: int
) -> None:
    other = list(samples)
    random.shuffle(other)  # type: ignore[attr-defined]
    a = learned(batches(*[samples[i : i + 3] for i in range(0, len(samples), 3)]), steps=9)
    b = learned(batches(*[other[i : i + size] for i in range(0, len(other), size)]), steps=9)
    assert compare_data(a, b)[0] in ("identical", "same-multiset")


def test_a_shuffle_is_seen_at_the_end_of_an_epoch() -> None:
    a = learned(batches([1, 2], [3, 4], [1, 2]), epoch_ends=(2,))
    b = learned(batches([4, 3], [2, 1], [4, 2]), epoch_ends=(2,))
    assert compare_data(a, b)[0] == "same-multiset"
    c = learned(batches([4, 3], [2, 1], [4, 2]), epoch_ends=())
    verdict, detail = compare_data(a, c)
    assert verdict == "different"
    assert "no epoch" in detail


# -- learning ------------------------------------------------------------------------


def test_without_losses_and_weights_nothing_is_checked() -> None:
    found = compare(learned(why_no_weights="no model"), learned(why_no_weights="no model"))
    assert found.learning == "not-checked"
    assert "no model" in found.detail


def test_a_different_loss_is_named_by_its_step() -> None:
    found = compare(learned(losses=[1.0, 0.9, 0.8]), learned(losses=[1.0, 0.9, 0.5]))
    assert found.learning == "different"
    assert "loss differs from step 3 on" in found.detail


def test_equal_weights_are_the_same_learning_whatever_was_reported() -> None:
    # An evaluation in a callback resets the mean that fit reports as its loss.
    a = learned(losses=[1.0, 0.9], weights={"kernel": [1.0, 2.0]})
    b = learned(losses=[1.0, 0.5], weights={"kernel": [1.0, 2.0]})
    found = compare(a, b)
    assert found.learning == "bitwise"
    assert "only the reported loss differs from step 2 on" in found.detail


def test_a_different_weight_is_named() -> None:
    a = learned(losses=[1.0], weights={"dense_1/kernel": [1.0, 2.0], "dense_1/bias": [0.0]})
    b = learned(losses=[1.0], weights={"dense_1/kernel": [1.0, 2.5], "dense_1/bias": [0.0]})
    found = compare(a, b)
    assert found.learning == "different"
    assert "dense_1/kernel" in found.detail


def test_a_nan_is_different_from_a_number() -> None:
    assert compare(learned(losses=[1.0]), learned(losses=[float("nan")])).learning == "different"
    nan = learned(losses=[float("nan")])
    assert compare(nan, nan).learning == "bitwise"


def test_models_of_other_shapes_are_different() -> None:
    a = learned(losses=[1.0], weights={"k": [1.0, 2.0]})
    b = learned(losses=[1.0], weights={"k": [1.0]})
    assert compare(a, b).learning == "different"


def test_rounding_is_close_and_says_the_tolerance() -> None:
    a = learned(losses=[1.0], weights={"k": [1.0, 2.0]})
    b = learned(
        losses=[1.0 + 1e-9], weights={"k": [1.0, np.nextafter(np.float32(2), np.float32(3))]}
    )
    found = compare(a, b, "safe")
    assert found.learning == "close"
    assert "tolerance 1e-06" in found.detail
    assert compare(a, b, "unsafe").learning == "close"


def test_what_is_close_depends_on_what_the_cure_claims() -> None:
    a, b = learned(losses=[1.0]), learned(losses=[1.0001])
    assert compare(a, b, "safe").learning == "different"
    assert compare(a, b, "given").learning == "different"
    assert compare(a, b, "unsafe").learning == "close"


def test_losses_per_execution_are_compared_where_both_have_one() -> None:
    a = learned(losses=[1.0, 0.9, 0.8, 0.7])
    b = Learned(4, (), {2: 0.9, 4: 0.7}, ())
    assert compare(a, b).learning == "bitwise"


def test_layers_with_new_names_are_paired_by_place() -> None:
    a = learned(losses=[1.0], weights={"dense/kernel": [1.0]})
    b = learned(losses=[1.0], weights={"dense_7/kernel": [1.0]})
    assert compare(a, b).learning == "bitwise"


def test_predictions_are_compared() -> None:
    a = Learned(1, (), {}, ("x",), {OUTPUTS: np.array([1.0, 2.0])})
    b = Learned(1, (), {}, ("y",), {OUTPUTS: np.array([1.0, 2.0 + 1e-7])})
    assert compare(a, a).learning == "bitwise"
    assert compare(a, b).learning == "close"
    assert compare(a, Learned(1, (), {}, ("y",))).learning == "different"


# -- a script that does not repeat itself -----------------------------------------------


def test_a_script_that_differs_from_itself_cannot_be_compared() -> None:
    a = learned(batches([1, 2]), losses=[1.0])
    again = learned(batches([7, 8]), losses=[3.0])
    b = learned(batches([5, 6]), losses=[2.0])
    found = with_repetition(compare(a, b), a, again)
    assert (found.data_stream, found.learning) == ("not-checked", "not-checked")
    assert "run to run" in found.detail


def test_a_script_that_repeats_itself_keeps_its_verdict() -> None:
    a, b = learned(batches([1, 2]), losses=[1.0]), learned(batches([5, 6]), losses=[2.0])
    found = with_repetition(compare(a, b), a, a)
    assert (found.data_stream, found.learning) == ("different", "different")


def test_an_unseeded_shuffle_still_shows_the_same_samples() -> None:
    a, b = learned(batches([1, 2]), losses=[1.0]), learned(batches([2, 1]), losses=[2.0])
    found = with_repetition(compare(a, b), a, learned(batches([2, 1]), losses=[3.0]))
    assert found.data_stream == "same-multiset"
    assert found.learning == "not-checked"


# -- numbers -------------------------------------------------------------------------

floats = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(floats, floats)
@example(0.0, float("nan"))  # max(0, nan) is 0: which of the two comes first decides
@example(float("nan"), 0.0)
@example(float("inf"), float("-inf"))
def test_relative_difference_is_symmetric_and_never_nan(a: float, b: float) -> None:
    assert relative_difference(a, b) == relative_difference(b, a) >= 0


@given(hnp.arrays("float32", hnp.array_shapes(max_dims=2), elements=floats))
def test_an_array_does_not_differ_from_itself(array: np.ndarray) -> None:  # type: ignore[type-arg]
    assert array_difference(array, array.copy()) == 0.0


@given(st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=9), st.integers(0, 8))
def test_a_changed_number_is_seen(values: list[float], place: int) -> None:
    one = np.array(values, "float32")
    other = one.copy()
    other[place % len(values)] += 1.0
    assert array_difference(one, other) > 0


def test_fingerprints_see_type_shape_and_order() -> None:
    base = np.arange(6, dtype="float32").reshape(3, 2)
    prints = [
        fingerprint([x]) for x in (base, base.astype("float64"), base.reshape(2, 3), base[::-1])
    ]
    assert len({p.digest for p in prints if p}) == 4
    one, other = fingerprint([base]), fingerprint([base[::-1]])
    assert one is not None and other is not None
    assert one.total == other.total
    assert fingerprint(["no array"]) is None
    assert fingerprint([np.array([b"a", b"b"], object)]) is not None


@pytest.mark.parametrize("empty", [np.zeros((0, 3)), np.zeros(0)])
def test_an_empty_batch_is_a_batch(empty: np.ndarray) -> None:  # type: ignore[type-arg]
    found = fingerprint([empty])
    assert found is not None and found.rows == 0
