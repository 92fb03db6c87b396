from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from fitdoctor.pack.columns import encode_rows
from fitdoctor.pack.element import normal
from fitdoctor.pack.example import decoder, encoder, varint, varints
from fitdoctor.pack.schema import BadElement, Feature, difference, schema_of

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def columns(draw: Any) -> tuple[dict[str, Any], int]:
    rows = draw(st.integers(1, 12))
    found: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            found[f"t{number}"] = draw(
                st.lists(st.binary(max_size=200), min_size=rows, max_size=rows)
            )
        else:
            shape = (rows, *draw(st.lists(st.integers(1, 6), max_size=2)))
            found[f"n{number}"] = draw(arrays.arrays(draw(st.sampled_from(DTYPES)), shape))
    return found, rows


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_of_variable_length_come_back(value: int) -> None:
    assert list(varints(varint(value))) == [value]


@settings(deadline=None)
@given(st.data())
def test_elements_come_back_and_blocks_equal_rows(data: st.DataObject) -> None:
    block, rows = columns(data.draw)
    each = [
        {k: v[row] if isinstance(v, list) else v[row, ...] for k, v in block.items()}
        for row in range(rows)
    ]
    schema = schema_of(each[0])
    encode, decode = encoder(schema), decoder(schema)
    records = [encode(element) for element in each]
    for element, record in zip(each, records, strict=True):
        again = decode(record)
        assert schema_of(again) == schema
        for name, value in element.items():
            assert (
                again[name] == value
                if isinstance(value, bytes)
                else (again[name].tobytes() == value.tobytes())
            )
    made = encode_rows(schema, block, before=3, after=2)
    whole = made.data.tobytes()
    starts, lengths = made.starts.tolist(), made.lengths.tolist()
    assert [whole[a + 3 : a + 3 + n] for a, n in zip(starts, lengths, strict=True)] == records
    assert len(whole) == sum(lengths) + 5 * rows


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({}, "no values"),
        ({"x": object()}, "a object"),
        ({"x": [[1, 2], [3]]}, "ragged"),
        ({1: 2}, "the key 1"),
        ((1, 2, 3, 4), "a tuple of 4"),
        ({"x": np.array(["a", "b"])}, "array of"),
        ({"x": np.zeros(2, complex)}, "complex128"),
    ],
)
def test_what_cannot_be_stored_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(BadElement, match=reason):
        schema_of(normal(value))


def test_elements_have_one_normal_form() -> None:
    assert normal(("é", 3)) == {"x": "é".encode(), "y": np.array(3)}
    assert set(normal({"a": {"b": 1, "c": 2.0}})) == {"a/b", "a/c"}
    big_endian = normal(np.arange(3, dtype=">f4"))["x"]
    assert big_endian.dtype == np.dtype("<f4")
    assert big_endian.tolist() == [0, 1, 2]


def test_another_schema_is_refused_with_the_difference() -> None:
    schema = schema_of(normal({"x": np.zeros(3, np.float32), "y": 1}))
    encode = encoder(schema)
    for other in ({"x": np.zeros(3), "y": 1}, {"x": np.zeros(4, np.float32), "y": 1}, {"x": 1}):
        with pytest.raises(BadElement):
            encode(normal(other))
    wrong = schema_of(normal({"x": np.zeros(4, np.float32), "y": 1}))
    assert difference(schema, schema) == ""
    assert difference(schema, wrong) == (
        "'x' is float32 [4]; in the first element it is float32 [3]"
    )


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_damaged_examples_are_refused(cut: int) -> None:
    schema = schema_of(normal({"x": np.zeros(3, np.float32), "y": 1}))
    record = encoder(schema)(normal({"x": np.zeros(3, np.float32), "y": 1}))
    with pytest.raises(BadElement):
        decoder(schema)(record[:-cut])
    with pytest.raises(BadElement):
        decoder((Feature("other", "int64", (), "int64"),))(record)
