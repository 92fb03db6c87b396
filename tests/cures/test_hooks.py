"""A batch hook that works at every 50th batch."""

from __future__ import annotations

import ast

import pytest
from edit_text import after, at, comments, is_there, why_not
from hypothesis import given, strategies as st

from fitdoctor.findings.edits import SkipBatches


def skip(line: int) -> SkipBatches:
    return SkipBatches(at(line), 50)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("x = 1\n", 1, "no batch hook of a callback begins at line 1"),
        ("def on_epoch_end(self, epoch):\n    pass\n", 1, "no batch hook of a callback"),
        ("def on_batch_end(self, *args):\n    work()\n", 1, "on_batch_end does not name the batch"),
        ("def on_batch_end(self, b, logs): work()\n", 1, "the body of on_batch_end shares its"),
        (
            "def on_batch_end(self, b, logs):\n    if b % 10 == 9:\n        work()\n",
            1,
            "on_batch_end counts batches itself",
        ),
        ("async def on_batch_end(self, b, logs):\n    work()\n", 1, "no batch hook of a callback"),
    ],
)
def test_declined_where_it_would_do_something_else(text: str, line: int, reason: str) -> None:
    assert why_not(text, skip(line)).startswith(reason)


def test_the_hook_returns_at_once_at_other_batches() -> None:
    text = (
        "class Watch(Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        self.seen.append(self.model.evaluate(x))  # slow\n"
    )
    expected = (
        "class Watch(Callback):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        if batch % 50:\n"
        "            return\n"
        "        self.seen.append(self.model.evaluate(x))  # slow\n"
    )
    assert after(text, skip(2)) == expected
    assert is_there(expected, skip(2))


def test_a_docstring_and_a_comment_stay_where_they_are() -> None:
    text = (
        "@timed\n"
        "def on_batch_end(self, number, logs):\n"
        '\t"""Looks."""\n'
        "\t# now\n"
        "\tif logs:\n"
        "\t\twork()\n"
    )
    changed = after(text, skip(1))
    assert '\t"""Looks."""\n\t# now\n\tif number % 50:\n\t\treturn\n\tif logs:' in changed


BODIES = st.sampled_from(["work()", "for x in y:\n{i}    work()", "with a:\n{i}    work()", "pass"])


@given(
    st.sampled_from(["on_train_batch_end", "on_train_batch_begin", "on_batch_end"]),
    st.sampled_from(["batch", "step", "i"]),
    st.lists(BODIES, min_size=1, max_size=3),
    st.sampled_from(["", '"""Doc."""', "# only a comment\n{i}x = 1"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_only_the_guard_is_added(
    name: str, batch: str, body: list[str], first: str, newline: str
) -> None:
    indent = "        "
    lines = [one.format(i=indent) for one in ([first] if first else []) + body]
    text = (
        f"class C:\n    def {name}(self, {batch}, logs=None):\n"
        + "".join(f"{indent}{line}\n" for line in lines)
        + "last = 1  # end\n"
    ).replace("\n", newline)
    changed = after(text, skip(2))
    hook = ast.parse(changed).body[0].body[0]  # type: ignore[attr-defined]
    before = ast.parse(text).body[0].body[0]  # type: ignore[attr-defined]
    guard = ast.dump(ast.parse(f"def f():\n if {batch} % 50:\n  return").body[0].body[0])  # type: ignore[attr-defined]
    was, now = list(map(ast.dump, before.body)), list(map(ast.dump, hook.body))
    now.remove(guard)
    assert now == was
    assert comments(changed) == comments(text)
    assert ("\r\n" in changed) == (newline == "\r\n")
