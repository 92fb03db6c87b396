"""A loop of fits becomes one fit of as many epochs."""

from __future__ import annotations

import ast

import pytest
from edit_text import after, at, comments, why_not
from hypothesis import given, settings, strategies as st

from fitdoctor.findings.edits import CastBefore, OneFit

EDIT = OneFit(at(2))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\nm.fit(x)\n", "fit() is not in a loop here"),
        ("while go():\n    m.fit(x)\n", "the loop around fit() does not count its rounds"),
        ("for e in range(9):\n    m.fit(x)\nelse:\n    f()\n", "the loop around fit() does not"),
        ("for e in range(9):\n    m.fit(x)\n    print(1)\n", "the loop around fit() does someth"),
        ("for e in range(9):\n    h = m.fit(x)\n", "what fit() returns is used"),
        ("for e in range(9):\n    log(m.fit(x))\n", "what fit() returns is used"),
        ("for e in range(9):\n    m.fit(x); f()\n", "what fit() returns is used"),
        ("for e in range(1, 9):\n    m.fit(x)\n", "the loop goes over `range(1, 9)`"),
        ("for e in tqdm(range(9)):\n    m.fit(x)\n", "the loop goes over `tqdm(range(9))`"),
        ("for m in range(9):\n    m.fit(x)\n", "fit() uses m, which changes in the loop"),
        ("for e in range(9):\n    m.fit(x[e])\n", "fit() uses e, which changes in the loop"),
        ("for e in range(9):\n    m.fit(load())\n", "fit() is given `load()`, made again"),
        ("for e in range(9):\n    m.fit(x)\nprint(e)\n", "e is used after the loop"),
        ("for e in range(9):\n    m.fit(x, callbacks=cb)\n", "fit() is given callbacks"),
        ("for e in range(9):\n    m.fit(x, initial_epoch=3)\n", "fit() is given initial_epoch"),
        ("for e in range(9):\n    m.fit(x, epochs=2)\n", "each round has epochs=2"),
        ("for e in range(9):\n    m.fit(x, **more)\n", "**more may already carry"),
    ],
)
def test_what_is_more_than_one_training_stays(text: str, reason: str) -> None:
    assert why_not(text, EDIT).startswith(reason)


def test_a_loop_on_one_line_stays() -> None:
    reason = why_not("for e in range(9): m.fit(x)\n", OneFit(at(1)))
    assert reason == "the statement shares its line with the head of a block"


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("for e in range(9):\n    m.fit(x, y)\n", "m.fit(x, y, epochs=9)\n"),
        ("for e in range(N):\n    m.fit(x, y, 8, 1)\n", "m.fit(x, y, 8, N)\n"),
        (
            "for _ in range(max(1, n)):  # rounds\n    # short\n    m.fit(x, epochs=1)  # once\n",
            "# rounds\n# short\nm.fit(x, epochs=max(1, n))  # once\n",
        ),
        (
            "for e in range(9):\n    m.fit(x)\nfor e in range(3):\n    print(e)\n",
            "m.fit(x, epochs=9)\nfor e in range(3):\n    print(e)\n",
        ),
    ],
)
def test_the_loop_goes(text: str, changed: str) -> None:
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "m.fit" in row)
    assert after(text, OneFit(at(line))) == changed


def test_inside_a_function_and_over_several_lines() -> None:
    text = (
        "def main(a):\n"
        "\tfor epoch in range(a.epochs):\n"
        "\t\ta.model.fit(\n"
        "\t\t\ta.x,  # rows\n"
        "\t\t\tepochs=1,\n"
        "\t\t)\n"
        "\treturn a\n"
    )
    assert after(text, OneFit(at(3))) == (
        "def main(a):\n\ta.model.fit(\n\t\ta.x,  # rows\n\t\tepochs=a.epochs,\n\t)\n\treturn a\n"
    )


def test_after_a_cast_before_the_loop() -> None:
    text = "x = load()\nfor e in range(9):\n    m.fit(x)\n"
    cast = after(text, CastBefore(at(3), "fit", "x", 0, "float32"))
    assert cast == 'x = load()\nx = x.astype("float32")\nfor e in range(9):\n    m.fit(x)\n'
    assert after(cast, OneFit(at(4))).endswith("m.fit(x, epochs=9)\n")


COMMENTS = st.sampled_from(["", "  # why", "  # a, (b"])


@given(
    st.sampled_from(["9", "N", "a.n", "2 * k", "len(folds)"]),
    st.lists(st.sampled_from(["x", "y=y", "verbose=0", "batch_size=1", "epochs=1"]), unique=True),
    st.sampled_from(["    ", "\t", "  "]),
    st.lists(COMMENTS, min_size=7, max_size=7),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_whatever_it_looks_like_the_call_keeps_its_arguments(
    rounds: str, given_: list[str], indent: str, told: list[str], newline: str, many: bool
) -> None:
    given_ = sorted(given_, key=lambda one: "=" in one)
    if many and given_:
        rows = [f"{indent * 2}{one},{note}" for one, note in zip(given_, told[2:], strict=False)]
        call = "\n".join(["m.fit(", *rows, f"{indent})"])
    else:
        call = f"m.fit({', '.join(given_)})"
    text = f"for e in range({rounds}):{told[0]}\n{indent}{call}{told[1]}\nlast = 1\n"
    text = text.replace("\n", newline)
    changed = after(text, EDIT)
    assert sorted(comments(changed)) == sorted(comments(text))
    body = ast.parse(changed).body
    assert len(body) == 2
    kept = [one for one in given_ if one != "epochs=1"]
    found = body[0].value  # type: ignore[attr-defined]
    expected = ast.parse(f"m.fit({', '.join([*kept, f'epochs={rounds}'])})").body[0].value  # type: ignore[attr-defined]
    keywords = {one.arg: ast.dump(one.value) for one in found.keywords}
    assert keywords == {one.arg: ast.dump(one.value) for one in expected.keywords}
    assert [ast.dump(one) for one in found.args] == [ast.dump(one) for one in expected.args]
