"""What comes back from a recording has the types of its fields and numbers that can be true."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings, strategies as st

from examples import values_of
from fitdoctor.contract.codec import (
    LARGEST,
    BadValue,
    Digits,
    Positive,
    Signed,
    as_text,
    decode,
    decode_known,
    encode,
)
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.places import CodeLine
from fitdoctor.contract.results import all_kinds


@dataclass(frozen=True)
class One:
    """One field of each type that the contract uses."""

    whole: int = 0
    signed: Signed = 0
    number: float = 0.0
    positive: Positive = 1.0
    text: str = ""
    flag: bool = False
    word: Literal["a", "b"] = "a"
    maybe: int | None = None
    several: tuple[int, ...] = ()
    pair: tuple[str, int] = ("", 0)
    sizes: dict[Digits, float] = field(default_factory=dict)
    inner: CodeLine | None = None


BAD: list[tuple[str, Any]] = [
    *(("whole", value) for value in (-1, 1.0, True, "1", None, [], {}, LARGEST + 1, 10**400)),
    *(("signed", value) for value in (0.5, -LARGEST - 1, False)),
    *(("number", value) for value in ("1", True, None, -0.1, 5e-324, 1e300, 10**400)),
    *(("number", float(value)) for value in ("nan", "inf", "-inf")),
    *(("positive", value) for value in (0, 0.0, -1.0, None, float("nan"))),
    *(("text", value) for value in (1, None, ["a"], b"a")),
    *(("flag", value) for value in (0, 1, "true", None)),
    *(("word", value) for value in ("c", 1, None, ["a"], {})),
    *(("maybe", value) for value in (-1, "1", 1.5)),
    *(("several", value) for value in (1, "12", {"0": 1}, [1, "2"], [[1]])),
    *(("pair", value) for value in ([], ["a"], ["a", 1, 2], ["a", "b"])),
    *(("sizes", value) for value in ([], {"x": 1.0}, {"-3": 1.0}, {"016": 1.0}, {"0": 1.0})),
    *(("sizes", value) for value in ({"16": "1"}, {"1" * 30: 1.0})),
    *(("inner", value) for value in ([], {"file": "a.py"}, {"file": "a.py", "line": -1})),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(BadValue, match=f"One.{name}"):
        decode(One, {name: value})


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_what_is_not_an_object_is_refused(value: Any) -> None:
    with pytest.raises(BadValue, match="One is not an object"):
        decode(One, value)


def test_a_missing_field_is_refused_unless_it_has_a_default_or_may_be_none() -> None:
    with pytest.raises(BadValue, match=r"CodeLine.line is missing"):
        decode(CodeLine, {"file": "a.py"})
    assert decode(One, {}) == One()


def test_what_this_version_does_not_know_is_ignored() -> None:
    assert decode(One, {"later": [1]}) == One()


def test_numbers_are_what_their_fields_say() -> None:
    found = decode(One, {"number": 3, "signed": -1, "maybe": None, "sizes": {"16": 2}})
    assert (found.number, found.signed, found.maybe) == (3.0, -1, None)
    assert isinstance(found.number, float) and found.sizes == {"16": 2.0}


def test_of_details_only_what_does_not_fit_is_left_out() -> None:
    assert decode_known(One, {"whole": -1, "text": "a"}) == One(text="a")
    assert decode_known(One, None) == One()


def test_a_null_byte_cannot_pass_into_a_path() -> None:
    assert decode(CodeLine, {"file": "/u/a\0.py", "line": 3}).file == "/u/a?.py"


def test_half_a_surrogate_pair_cannot_pass() -> None:
    text = decode(One, {"text": "a\ud800b"}).text
    assert text == "a?b"
    text.encode("utf-8")
    assert as_text("é\udcff") == "é?"


def test_a_long_value_is_shown_by_its_beginning() -> None:
    with pytest.raises(BadValue) as error:
        decode(One, {"whole": "x" * 10_000})
    assert len(str(error.value)) < 120


@pytest.mark.parametrize("name", sorted(all_kinds()))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_result_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    kind = all_kinds()[name]
    found = data.draw(values_of(kind))
    assert decode(kind, json.loads(json.dumps(encode(found)))) == found


@settings(max_examples=50, deadline=None)
@given(values_of(RunOptions))
def test_options_reach_the_child_as_they_were(options: RunOptions) -> None:
    assert RunOptions.from_text(options.to_text()) == options


@pytest.mark.parametrize("name", sorted(all_kinds()))
@settings(max_examples=10, deadline=None)
@given(value=st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_no_result_takes_anything_else(name: str, value: Any) -> None:
    with pytest.raises(BadValue):
        decode(all_kinds()[name], value)
