"""Whatever a call looks like: only what should change changes, and only once."""

from __future__ import annotations

import ast
from collections import Counter

from edit_text import at, comments, words
from hypothesis import given, settings, strategies as st

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft
from fitdoctor.cures.edit_engine import edited
from fitdoctor.findings.edits import AppendCall, DropKeyword, SetKeyword, SwapCalls

VALUES = st.sampled_from(
    ["1", "x", "'a, b'", "f(1, n=2)", "[1, 2]", "(3)", "lambda q: q", "a if b else c", "é", "-1"]
)
SPACES = st.sampled_from(["", " ", "  "])
COMMENTS = st.sampled_from(["", "  # why", "  # a, (b"])
NEWLINES = st.sampled_from(["\n", "\r\n"])
BEFORE = "import os  # first\n\n"
AFTER = "\nlast = 1  # end"


@st.composite
def calls(draw: st.DrawFn, with_target: bool = False) -> tuple[str, list[str]]:
    """The text of a call of `target`, and the names of its keywords."""
    positional = draw(st.lists(VALUES, max_size=3))
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, max_size=3))
    keywords = [f"{name}{draw(SPACES)}={draw(SPACES)}{draw(VALUES)}" for name in names]
    if with_target:
        place = draw(st.integers(0, len(keywords)))
        keywords.insert(place, "k=True")
    arguments = positional + keywords
    trailing = "," if arguments and draw(st.booleans()) else ""
    if not arguments or draw(st.booleans()):
        text = ", ".join(arguments) + trailing
        return f"target({draw(SPACES)}{text})", names
    indent = draw(st.sampled_from(["    ", "\t", "         "]))
    lines = []
    for number, argument in enumerate(arguments):
        comma = "," if number < len(arguments) - 1 else trailing
        lines.append(f"{indent}{argument}{comma}{draw(COMMENTS)}")
    hanging = draw(st.booleans())
    if hanging:
        lines[0] = lines[0].strip()
        closing = "\n)" if "#" in lines[-1] or draw(st.booleans()) else ")"
        return "target(" + "\n".join(lines) + closing, names
    return "target(\n" + "\n".join(lines) + "\n)", names


def placed(call: str, newline: str) -> str:
    return (BEFORE + "result = model." + call + AFTER).replace("\n", newline)


def call_in(text: str) -> ast.Call:
    found = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "target"
    ]
    return found[0]


def shape(call: ast.Call) -> tuple[list[str], dict[str | None, str]]:
    return (
        [ast.dump(one) for one in call.args],
        {one.arg: ast.dump(one.value) for one in call.keywords},
    )


def is_within(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(word in rest for word in few)


@given(calls(), NEWLINES)
@settings(max_examples=150, deadline=None)
def test_setting_a_keyword_adds_it_and_nothing_else(
    call: tuple[str, list[str]], newline: str
) -> None:
    text = placed(call[0], newline)
    edit = SetKeyword(at(3), "target", "k", "True")
    draft = edited(Draft(text), edit)
    args, keywords = shape(call_in(text))
    assert shape(call_in(draft.text)) == (args, {**keywords, "k": ast.dump(ast.Constant(True))})
    assert comments(draft.text) == comments(text)
    assert is_within(words(text), words(draft.text))
    more = Counter(words(draft.text)) - Counter(words(text))
    assert more in (
        Counter(["k", "=", "True"]),
        Counter(["k", "=", "True", ","]),
    )
    assert draft.text.startswith(BEFORE.replace("\n", newline))
    assert draft.text.endswith(AFTER.replace("\n", newline))
    assert ("\r\n" in draft.text) == (newline == "\r\n")
    try:
        edited(draft, edit)
        raise AssertionError("the second application changed something")
    except AlreadyThere:
        pass


@given(calls(with_target=True), NEWLINES)
@settings(max_examples=150, deadline=None)
def test_dropping_a_keyword_takes_it_away_and_nothing_else(
    call: tuple[str, list[str]], newline: str
) -> None:
    text = placed(call[0], newline)
    edit = DropKeyword(at(3), "target", "k")
    draft = edited(Draft(text), edit)
    args, keywords = shape(call_in(text))
    del keywords["k"]
    assert shape(call_in(draft.text)) == (args, keywords)
    assert comments(draft.text) == comments(text)
    assert is_within(words(draft.text), words(text))
    less = Counter(words(text)) - Counter(words(draft.text))
    assert less in (Counter(["k", "=", "True"]), Counter(["k", "=", "True", ","]))
    assert draft.text.startswith(BEFORE.replace("\n", newline))
    assert draft.text.endswith(AFTER.replace("\n", newline))


@given(calls(), NEWLINES)
@settings(max_examples=60, deadline=None)
def test_setting_and_dropping_gives_the_same_call_again(
    call: tuple[str, list[str]], newline: str
) -> None:
    text = placed(call[0], newline)
    draft = edited(Draft(text), SetKeyword(at(3), "target", "k", "True"))
    draft = edited(draft, DropKeyword(at(3), "target", "k"))
    assert shape(call_in(draft.text)) == shape(call_in(text))
    assert comments(draft.text) == comments(text)


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A chain with one `map` and a `batch` behind it, and the names of its calls."""
    before = draw(st.lists(st.sampled_from(["take", "skip"]), max_size=2, unique=True))
    between = draw(st.lists(st.sampled_from(["shuffle", "repeat"]), max_size=2, unique=True))
    behind = draw(st.lists(st.just("prefetch"), max_size=1))
    names = [*before, "map", *between, "batch", *behind]
    links = [f".{name}({draw(st.sampled_from(['', '1', 'f, g', '(2)']))})" for name in names]
    if draw(st.booleans()):
        return "d = e" + "".join(links), names
    remarks = [draw(COMMENTS) for _ in links]
    lines = [f"    {link}{remark}" for link, remark in zip(links, remarks, strict=True)]
    return "d = (\n    e\n" + "\n".join(lines) + "\n)", names


def order(text: str) -> list[str]:
    """The names of the calls of the chain, as they are made."""
    assignment = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "d"
    )
    found, node = [], assignment.value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found.append(node.func.attr)
        node = node.func.value
    return found[::-1]


def line_of(text: str, call: str) -> int:
    return text[: text.index(f".{call}(")].count("\n") + 1


@given(chains(), NEWLINES)
@settings(max_examples=100, deadline=None)
def test_appending_a_call(chain: tuple[str, list[str]], newline: str) -> None:
    text = (BEFORE + chain[0] + AFTER).replace("\n", newline)
    edit = AppendCall(at(line_of(text, "map")), "map", ".cache()")
    draft = edited(Draft(text), edit)
    place = chain[1].index("map") + 1
    assert order(draft.text) == [*chain[1][:place], "cache", *chain[1][place:]]
    assert comments(draft.text) == comments(text)
    assert is_within(words(text), words(draft.text))
    assert draft.text.endswith(AFTER.replace("\n", newline))
    try:
        edited(draft, edit)
        raise AssertionError("the second application changed something")
    except AlreadyThere:
        pass


@given(chains(), NEWLINES)
@settings(max_examples=100, deadline=None)
def test_swapping_calls(chain: tuple[str, list[str]], newline: str) -> None:
    text = (BEFORE + chain[0] + AFTER).replace("\n", newline)
    edit = SwapCalls(at(line_of(text, "map")), "map", "batch")
    draft = edited(Draft(text), edit)
    expected = [name for name in chain[1] if name != "map"]
    expected.insert(expected.index("batch") + 1, "map")
    assert order(draft.text) == expected
    assert Counter(comments(draft.text)) == Counter(comments(text))
    assert Counter(words(draft.text)) == Counter(words(text))
    try:
        edited(draft, edit)
        raise AssertionError("the second application changed something")
    except (AlreadyThere, DeclinedEdit):
        pass


@given(st.text(alphabet="abc().,=*:#\n \t\"'\\é", max_size=80), st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_any_text_is_edited_or_declined(text: str, line: int) -> None:
    source = text + "\nc.a(b)\n"
    for edit in (
        SetKeyword(at(line), "a", "k", "1"),
        DropKeyword(at(line), "a", "b"),
        AppendCall(at(line), "a", ".c()"),
        SwapCalls(at(line), "a", "b"),
    ):
        try:
            ast.parse(edited(Draft(source), edit).text)
        except (AlreadyThere, DeclinedEdit):
            continue
