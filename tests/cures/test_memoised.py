"""A method that keeps what it returned."""

from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import Memoise

EDIT = Memoise(at(2), "__getitem__")


def rows(*body: str, above: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body)
    return f"class Rows(PyDataset):\n{above}    def __getitem__(self, index):\n{lines}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (("self.seen = index", "return index"), "__getitem__ changes its object at line 3"),
        (("self.seen += 1", "return index"), "__getitem__ changes its object at line 3"),
        (("self.of[index] = 1", "return 1"), "__getitem__ changes its object at line 3"),
        (("a, self.b = 1, 2", "return a"), "__getitem__ changes its object at line 3"),
        (("self.seen.append(index)", "return 1"), "__getitem__ changes its object at line 3"),
        (("del self.of[index]", "return 1"), "__getitem__ changes its object at line 3"),
        (("global n", "n = index", "return n"), "__getitem__ assigns to variables outside it"),
        (("print(index)", "return index"), "__getitem__ prints, or yields"),
        (("yield index",), "__getitem__ prints, or yields"),
    ],
)
def test_what_leaves_a_trace_is_done_every_time(body: tuple[str, ...], reason: str) -> None:
    assert why_not(rows(*body), EDIT) == reason


def test_another_decorator_may_count_on_every_call() -> None:
    text = rows("return 1", above="    @timed\n")
    assert why_not(text, EDIT) == "__getitem__ is decorated with timed"


def test_a_function_outside_a_class_is_another_one() -> None:
    text = "x = 1\ndef __getitem__(self, index):\n    return 1\n"
    assert why_not(text, EDIT) == "no method __getitem__ begins at line 2"


def test_the_decorator_and_its_import() -> None:
    text = rows("out = []", "out.append(self.make(index))", "return out")
    assert after(text, EDIT) == (
        "import functools\n"
        "class Rows(PyDataset):\n"
        "    @functools.cache\n"
        "    def __getitem__(self, index):\n"
        "        out = []\n"
        "        out.append(self.make(index))\n"
        "        return out\n"
    )


def test_the_files_own_names_are_used() -> None:
    text = "from functools import cache\n" + rows("return index")
    changed = after(text, Memoise(at(3), "__getitem__"))
    assert "    @cache\n    def __getitem__" in changed
    assert is_there(changed, Memoise(at(3), "__getitem__"))


def test_a_proof_begins_when_all_batches_are_kept() -> None:
    assert EDIT.rounds().settles == 1
