from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.cures.draft import Draft
from fitdoctor.cures.edit_engine import edited
from fitdoctor.findings.edits import AppendCall, DatasetOption, SwapCalls

CACHE = AppendCall(at(1), "map", ".cache()")
POOL = DatasetOption(at(2), "map", "threading.private_threadpool_size", "16")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d = e.map(f)", "d = e.map(f).cache()"),
        ("d = e.map(f).batch(2)  # b\n", "d = e.map(f).cache().batch(2)  # b\n"),
        ("d = e.map(\n    f,\n).batch(2)\n", "d = e.map(\n    f,\n).cache().batch(2)\n"),
        ("for x in e.map(f): pass\n", "for x in e.map(f).cache(): pass\n"),
        ("d = e.map(f) \\\n  .batch(2)\n", "d = e.map(f) \\\n  .cache() \\\n  .batch(2)\n"),
    ],
)
def test_append_call(text: str, expected: str) -> None:
    assert after(text, CACHE) == expected


CHAIN = """d = (
    source(n)  # names
    .map(f)  # read
    # then
    .batch(2)
)
"""


def test_append_call_in_a_chain_with_a_call_per_line() -> None:
    assert after(CHAIN, AppendCall(at(3), "map", ".cache()")) == CHAIN.replace(
        "# read\n", "# read\n    .cache()\n"
    )
    assert after(CHAIN, AppendCall(at(2), "source", ".cache()")) == CHAIN.replace(
        "# names\n", "# names\n    .cache()\n"
    )
    assert after(CHAIN, AppendCall(at(5), "batch", ".prefetch(1)")) == CHAIN.replace(
        ".batch(2)\n", ".batch(2)\n    .prefetch(1)\n"
    )
    windows = CHAIN.replace("\n", "\r\n")
    assert after(windows, AppendCall(at(3), "map", ".cache()")) == windows.replace(
        "# read\r\n", "# read\r\n    .cache()\r\n"
    )


def test_append_call_that_is_there() -> None:
    assert is_there("d = e.map(f).cache( )\n", CACHE)
    assert is_there("d = (e.map(f)\n   .cache())\n", CACHE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("if a:\n    pass\nelif e.map(f): pass\n", "the statement is in a branch of another"),
        ("if a: d = e.map(f)\n", "the statement shares its line with the head of a block"),
        ("a = 1; d = e.map(f)\n", None),
    ],
)
def test_options_need_a_line_before_the_statement(text: str, reason: str | None) -> None:
    line = text[: text.index("e.map")].count("\n") + 1
    edit = DatasetOption(at(line), "map", "threading.private_threadpool_size", "16")
    if reason is None:
        assert "\na = 1; d = e.map(f).with_options(options)\n" in after(text, edit)
    else:
        assert why_not(text, edit) == reason


def test_options_are_made_before_the_statement() -> None:
    text = "import tensorflow as tf\nd = e.map(f)\n"
    assert after(text, POOL) == (
        "import tensorflow as tf\n"
        "options = tf.data.Options()\n"
        "options.threading.private_threadpool_size = 16\n"
        "d = e.map(f).with_options(options)\n"
    )


def test_options_in_a_function_and_with_their_name_taken() -> None:
    text = "def make(options):\n    return e.map(f)\n"
    assert after(text, POOL) == (
        "import tensorflow as tf\n"
        "def make(options):\n"
        "    dataset_options = tf.data.Options()\n"
        "    dataset_options.threading.private_threadpool_size = 16\n"
        "    return e.map(f).with_options(dataset_options)\n"
    )


def test_options_that_are_set_already() -> None:
    text = "import tensorflow as tf\nd = e.map(f)\no.threading.private_threadpool_size = {}\n"
    assert is_there(text.format(16), POOL)
    assert why_not(text.format(4), POOL) == (
        "threading.private_threadpool_size is set to 4 at line 3"
    )


SWAP = SwapCalls(at(1), "map", "batch")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d = e.map(f).batch(2)\n", "d = e.batch(2).map(f)\n"),
        ("d = e.map(f).shuffle(9).batch(2).x(1)\n", "d = e.shuffle(9).batch(2).map(f).x(1)\n"),
        ("d = (e.map(f)\n   .batch(2))\n", "d = (e.batch(2)\n   .map(f))\n"),
        ("d = e.map(f)\nd = d.batch(2)\n", "d = e.batch(2)\nd = d.map(f)\n"),
        ("d = e.map(f)\nd = d.batch(2).x(1)\n", "d = e.batch(2)\nd = d.map(f).x(1)\n"),
    ],
)
def test_swap_calls(text: str, expected: str) -> None:
    assert after(text, SWAP) == expected


def test_comments_go_with_their_calls() -> None:
    text = "d = (\n    e\n    .map(f)  # read\n    .batch(2)  # two\n)\n"
    assert after(text, SwapCalls(at(3), "map", "batch")) == (
        "d = (\n    e\n    .batch(2)  # two\n    .map(f)  # read\n)\n"
    )


def test_several_maps_are_moved_one_by_one() -> None:
    text = "d = (\n    e\n    .map(f)\n    .map(g)\n    .batch(2)\n)\n"
    draft = Draft(text)
    for line in (4, 3):  # the nearest first
        draft = edited(draft, SwapCalls(at(line), "map", "batch"))
    assert draft.text == "d = (\n    e\n    .batch(2)\n    .map(f)\n    .map(g)\n)\n"


@pytest.mark.parametrize(
    "text",
    [
        "d = e.map(f)\n",
        "d = e.map(f)\nother = d.batch(2)\n",
        "d = e.map(f)\nprint(d)\nd = d.batch(2)\n",
        "d = e.map(f)\nd = zip(d, d.batch(2))\n",
        "d = wrap(e.map(f))\nd = d.batch(2)\n",
        "d = c = e.map(f)\nd = d.batch(2)\n",
    ],
)
def test_calls_of_different_chains_are_not_swapped(text: str) -> None:
    assert "batch()" in why_not(text, SWAP)


def test_comments_between_calls_are_not_torn_away() -> None:
    text = "d = (\n    e\n    .map(f)\n    # why\n    .batch(2)\n)\n"
    assert why_not(text, SwapCalls(at(3), "map", "batch")) == "comments are between the calls"
    text = "d = (\n    e\n    .map(f)  # read\n    .batch(2))\n"
    assert why_not(text, SwapCalls(at(3), "map", "batch")) == "comments are between the calls"


def test_calls_that_are_swapped_already() -> None:
    assert is_there("d = e.batch(2).map(f)\n", SWAP)
    assert is_there("d = e.batch(2).shuffle(3).map(f)\n", SWAP)


SPLIT = SwapCalls(at(1), "map", "skip", at(3))


def test_what_others_use_stays_and_is_said_again() -> None:
    text = "d = e.map(f, n=2)\na = d.take(9)\nb = d.skip(9).batch(2)\n"
    assert after(text, SPLIT) == text.replace("d.skip(9)", "e.skip(9).map(f, n=2)")
    assert is_there(text.replace("d.skip(9)", "e.skip(9).map(f, n=2)"), SPLIT)
    lines = "d = e.map(f)\nb = (\n    d.skip(9)\n    .batch(2)\n)\n"
    assert after(lines, SPLIT) == (
        "d = e.map(f)\nb = (\n    e.skip(9)\n    .map(f)\n    .batch(2)\n)\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d = e.map(f)\n\nb = c.skip(9)\n", "skip() is not called on what map() returns"),
        ("d = e.map(f)\n\ndef g(): return d.skip(9)\n", "skip() is not called on what"),
        ("d = e.map(f)\nf = g\nf = h; b = d.skip(9)\n", "f is assigned more than once"),
        ("d = e.map(f)\nd = d.x()\nb = d.skip(9)\n", "d is assigned more than once"),
        ("d = make().map(f)\n\nb = d.skip(9)\n", "skip() is not called on what map() returns"),
    ],
)
def test_names_that_may_mean_something_else_are_not_repeated(text: str, reason: str) -> None:
    assert why_not(text, SPLIT).startswith(reason)
