"""A map over the rows of a batch becomes vmap."""

from __future__ import annotations

import ast

import pytest
from edit_text import after, at, comments, is_there, why_not
from hypothesis import given, settings, strategies as st

from fitdoctor.findings.edits import VmapInstead

EDIT = VmapInstead(at(2))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("jax.lax.scan(f, start, rows)", "no call of map() was found at line 2"),
        ("jax.lax.map(f, rows, batch_size=8)", "map() is also given `batch_size=8`"),
        ("jax.lax.map(f, *rows)", "*rows may already carry settings of the loop"),
        ("jax.lax.map(xs=rows, f=f)", "map() is also given `xs=rows`"),
        ("jax.lax.map(f)", "map() is given its rows in another way"),
        (
            "jax.lax.map(f,  # slow\n    rows)",
            "there is a comment between the arguments of map()",
        ),
    ],
)
def test_what_is_more_than_a_function_and_rows_stays(call: str, reason: str) -> None:
    assert why_not(f"import jax\ny = {call}\n", EDIT) == reason


def test_a_vmap_is_there_already() -> None:
    assert is_there("import jax\ny = jax.vmap(f)(rows)\n", EDIT)


@pytest.mark.parametrize(
    ("imports", "call", "changed"),
    [
        ("import jax", "jax.lax.map(self.scale, rows)", "jax.vmap(self.scale)(rows)"),
        ("import jax", "jax.lax.map((f), (a, b),)", "jax.vmap((f))((a, b),)"),
        ("import jax", "jax.lax.map(f=f, xs = rows)", "jax.vmap(f)(rows)"),
        ("import jax", "jax.lax.map(lambda r: r[0], rows)", "jax.vmap(lambda r: r[0])(rows)"),
        ("import jax as j", "j.lax.map(f, rows)", "j.vmap(f)(rows)"),
        (
            "import jax",
            "jax.lax.map(\n    f,\n    rows,  # all\n)",
            "jax.vmap(\n    f)(\n    rows,  # all\n)",
        ),
    ],
)
def test_all_rows_at_once(imports: str, call: str, changed: str) -> None:
    assert after(f"{imports}\ny = {call}\n", EDIT) == f"{imports}\ny = {changed}\n"


def test_a_file_that_knows_only_lax_gets_the_import() -> None:
    changed = after("from jax import lax\ny = lax.map(f, rows)\n", EDIT)
    assert changed == "from jax import lax\nimport jax\ny = jax.vmap(f)(rows)\n"


VALUES = st.sampled_from(
    ["f", "(f)", "lambda q: (q, 1)", "a if b else c", "g(1, n=2)", "(x,\n  y)", "é[0]", "-rows"]
)
GAPS = st.sampled_from(["", " ", "\n    ", "\r\n\t"])


@given(VALUES, VALUES, GAPS, GAPS, GAPS, st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_whatever_it_looks_like_the_same_two_things_are_given(
    function: str, rows: str, one: str, two: str, three: str, named: bool, comma: bool
) -> None:
    second = f"xs={rows}" if named else rows
    last = "," if comma else ""
    call = f"jax.lax.map({one}{function},{two}{second}{last}{three})"
    text = f"import jax  # first\ny = {call}  # why\n"
    changed = after(text, EDIT)
    assert comments(changed) == comments(text)
    outer = ast.parse(changed).body[1].value  # type: ignore[attr-defined]
    assert ast.dump(outer) == ast.dump(ast.parse(f"jax.vmap({function})({rows})").body[0].value)  # type: ignore[attr-defined]
    assert is_there(changed, EDIT)
