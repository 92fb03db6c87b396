"""Reads in a loop: what must stay first, then what is read after the loop."""

from __future__ import annotations

import textwrap

import pytest

from cures.edit_text import after, at, comments, is_there, why_not
from fitdoctor.findings.edits import ReadAfterLoop

LOOP = """\
losses = []
for batch in batches:
    loss, state = step(state, batch)
    losses.append(float(loss))  # for the plot
print(losses)
"""


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if ".append(" in line)


def declined(text: str) -> str:
    return why_not(text, ReadAfterLoop(at(line_of(text))))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # The list is looked at before the loop has ended.
        ("    loss,", "    print(losses[-1:])\n    loss,", "also used at line 3"),
        ("for batch", "history['loss'] = losses\nfor batch", "also used at line 2"),
        ("for batch", "def last():\n    return losses[-1]\n\nfor batch", "function of its own"),
        # It is not known what the list is.
        ("losses = []\n", "", "not made here"),
        ("losses = []", "losses = Smoothed()", "not made here"),
        ("losses = []", "losses = []\nlosses = [1.0]", "not made here"),
        # The tensor is not this round's own, or changes afterwards.
        ("loss, state = step(state, batch)", "state = step(state, batch)", "not assigned once"),
        ("step(state, batch)", "step(loss, batch)", "loss is also used at line 3"),
        ("# for the plot", "\n    loss /= 2", "not assigned once"),
        ("# for the plot", "\n    state = again(loss)", "loss is also used at line 5"),
        ("    loss,", "    if batch:\n        loss = 0\n    loss,", "not assigned once"),
        # Something else than a read.
        ("float(loss)", "float(loss) * 2", "not just a read"),
        ("float(loss)", "float(loss.mean())", "not just a read"),
        ("float(loss)", "round(float(loss), 3)", "not just a read"),
        ("losses.append(float(loss))", "losses.append(float(loss)); log()", "more than append"),
        ("losses.append(float(loss))", "totals['a'].append(float(loss))", "does not append one"),
        # The loop may end in another way.
        ("print(losses)", "else:\n    print(losses)", "may end in another way"),
    ],
)
def test_what_must_not_change(old: str, new: str, said: str) -> None:
    assert said in declined(changed(LOOP, old, new))


def test_a_loop_whose_interrupt_is_caught_stays() -> None:
    text = "losses = []\ntry:\n" + textwrap.indent(LOOP.partition("\n")[2], "    ")
    text += "except KeyboardInterrupt:\n    print(losses)\n"
    assert "may end in another way" in declined(text)


def test_outside_of_a_loop_there_is_nothing_to_do() -> None:
    text = "losses = []\nloss = step()\nlosses.append(float(loss))\n"
    assert "not appended in a loop" in declined(text)


def test_what_is_kept_already_is_there() -> None:
    text = changed(LOOP, "float(loss)", "loss")
    assert is_there(text, ReadAfterLoop(at(4)))


def test_the_list_is_converted_after_the_loop() -> None:
    text = after(LOOP, ReadAfterLoop(at(4)))
    assert text == changed(
        changed(LOOP, "float(loss)", "loss"),
        "print(losses)",
        "losses = [float(one) for one in losses]\nprint(losses)",
    )
    assert comments(text) == comments(LOOP)


def test_in_torch_the_graph_is_not_kept() -> None:
    text = changed(LOOP, "float(loss)", "loss.item()")
    text = changed(text, "# for the plot", "\n    loss.backward()")
    text = after(text, ReadAfterLoop(at(4), detach=True))
    assert "losses.append(loss.detach())" in text
    assert "losses = [one.item() for one in losses]" in text


def test_a_list_of_each_epoch_is_converted_in_each_epoch() -> None:
    text = "for epoch in range(3):\n" + textwrap.indent(LOOP, "    ")
    text = after(text, ReadAfterLoop(at(5)))
    assert "        losses.append(loss)" in text
    assert "\n    losses = [float(one) for one in losses]\n    print(losses)" in text


def test_a_list_over_all_epochs_is_converted_once() -> None:
    inner = textwrap.indent(LOOP.partition("\n")[2].replace("print(losses)\n", ""), "    ")
    text = "losses = []\nfor epoch in range(3):\n" + inner + "    if epoch:\n        save(epoch)\n"
    text = after(text, ReadAfterLoop(at(line_of(text))))
    assert text.endswith("        save(epoch)\nlosses = [float(one) for one in losses]\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_may_end_with_the_loop(newline: str) -> None:
    text = LOOP.replace("print(losses)\n", "").rstrip("\n").replace("\n", newline)
    text = after(text, ReadAfterLoop(at(4)))
    assert text.endswith(f"plot{newline}losses = [float(one) for one in losses]")


def test_the_numbers_are_the_same() -> None:
    """Any value, bit for bit: the same conversion of the same objects, later."""

    def run(text: str) -> list[float]:
        space = {"batches": [0.1, 1 / 3, 2.5e-8], "state": 0.0, "print": lambda found: None}
        space["step"] = lambda state, batch: (state + batch, state + batch)
        exec(text, space)
        return space["losses"]  # type: ignore[return-value]

    assert run(after(LOOP, ReadAfterLoop(at(4)))) == run(LOOP)
