from __future__ import annotations

from dataclasses import replace

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import (
    TENSORFLOW,
    DropKeyword,
    RenameCall,
    SetKeyword,
    WrapArgument,
)


def spe(line: int = 1) -> SetKeyword:
    return SetKeyword(at(line), "compile", "steps_per_execution", "10", 6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model.fit(x)\n", "no call of compile() was found at line 1"),
        ("a.compile(); b.compile()\n", "line 1 has 2 calls of compile()"),
        ("model.compile(**settings)\n", "**settings may already carry steps_per_execution"),
        ("model.compile(*given)\n", "*given may already carry steps_per_execution"),
        ("model.compile(steps_per_execution=k)\n", "steps_per_execution comes from `k`"),
        ("model.compile(steps_per_execution=2 * k)\n", "steps_per_execution comes from `2 * k`"),
        ("compile(x for x in y)\n", "the only argument is a bare generator expression"),
        ("!pip install keras\nmodel.compile()\n", "the file is not plain Python"),
        ("compile_ = functools.partial(model.compile)\n", "no call of compile() was found"),
    ],
)
def test_a_keyword_is_not_set_where_it_is_not_certain(text: str, reason: str) -> None:
    assert why_not(text, spe()).startswith(reason)


def test_a_line_that_the_file_does_not_have() -> None:
    assert why_not("model.compile()\n", spe(99)) == "the file has no line 99"
    assert why_not("model.compile()\n", spe(0)) == "the file has no line 0"


def test_a_keyword_that_is_there_is_there() -> None:
    assert is_there("model.compile(steps_per_execution = 10)\n", spe())
    assert is_there("model.compile(o, l, None, None, None, False, 10)\n", spe())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.compile()", "model.compile(steps_per_execution=10)"),
        ("model.compile( )\n", "model.compile(steps_per_execution=10 )\n"),
        ('m.compile("sgd")  # c\n', 'm.compile("sgd", steps_per_execution=10)  # c\n'),
        ('m.compile("sgd",)\n', 'm.compile("sgd", steps_per_execution=10,)\n'),
        ("m.compile(steps_per_execution=1)\n", "m.compile(steps_per_execution=10)\n"),
        ("m.compile(steps_per_execution=(1))\n", "m.compile(steps_per_execution=(10))\n"),
        (
            "m.compile(o, l, None, None, None, False, 1)\n",
            "m.compile(o, l, None, None, None, False, 10)\n",
        ),
        (
            'm.compile(\n    "sgd",  # fast\n    loss="mse",  # good\n)\n',
            'm.compile(\n    "sgd",  # fast\n    loss="mse",  # good\n'
            "    steps_per_execution=10,\n)\n",
        ),
        (
            'm.compile(\n    "sgd",\n    # which?\n    loss="mse"  # good\n    # end\n)\n',
            'm.compile(\n    "sgd",\n    # which?\n    loss="mse",  # good\n'
            "    steps_per_execution=10\n    # end\n)\n",
        ),
        (
            'm.compile("sgd",\n          "mse")\n',
            'm.compile("sgd",\n          "mse",\n          steps_per_execution=10)\n',
        ),
        (
            'm.compile(\r\n\t"sgd",\r\n)\r\n',
            'm.compile(\r\n\t"sgd",\r\n\tsteps_per_execution=10,\r\n)\r\n',
        ),
        (
            "# %% train\nm.compile(SGD(0.1))\n# %%\n",
            "# %% train\nm.compile(SGD(0.1), steps_per_execution=10)\n# %%\n",
        ),
    ],
)
def test_set_keyword_keeps_the_layout(text: str, expected: str) -> None:
    line = 2 if text.startswith("#") else 1
    assert after(text, spe(line)) == expected


def test_any_line_of_a_call_finds_it_but_the_line_of_its_name_comes_first() -> None:
    text = "ds = (\n    source(\n        1,\n    )\n    .map(f)\n    .map(\n        g,\n    )\n)\n"
    first = SetKeyword(at(5), "map", "num_parallel_calls", "16", 1)
    assert ".map(f, num_parallel_calls=16)" in after(text, first)
    second = SetKeyword(at(6), "map", "num_parallel_calls", "16", 1)
    assert "        g,\n        num_parallel_calls=16,\n" in after(text, second)
    # Only the second call reaches over this line.
    inside = SetKeyword(at(7), "map", "num_parallel_calls", "16", 1)
    assert after(text, inside) == after(text, second)
    head = SetKeyword(at(2), "map", "num_parallel_calls", "16", 1)
    assert why_not(text, head) == "line 2 has 2 calls of map()"


@pytest.mark.parametrize(
    ("head", "spelled"),
    [
        ("import tensorflow as tf\n", "tf.data.AUTOTUNE"),
        ("import tensorflow\n", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.data\n", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.compat.v2 as t, tensorflow as flow\n", "flow.data.AUTOTUNE"),
        ("from tensorflow import data\n", "data.AUTOTUNE"),
        ("from tensorflow import data as d\n", "d.AUTOTUNE"),
        ("from tensorflow.data import Dataset, AUTOTUNE as AUTO\n", "AUTO"),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n", None),
    ],
)
def test_values_are_written_in_the_files_own_names(head: str, spelled: str | None) -> None:
    line = head.count("\n") + 1
    edit = SetKeyword(at(line), "map", "num_parallel_calls", "tf.data.AUTOTUNE", 1, (TENSORFLOW,))
    expected = f"d2 = d1.map(f, num_parallel_calls={spelled or 'tf.data.AUTOTUNE'})\n"
    assert after(head + "d2 = d1.map(f)\n", edit) == head + expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d = e.map(f)\n", "import tensorflow as tf\nd = e.map(f, n=tf.x)\n"),
        (
            '"""Doc."""\nfrom __future__ import annotations\n\nimport keras\n\nd = e.map(f)\n',
            '"""Doc."""\nfrom __future__ import annotations\n\nimport keras\n'
            "import tensorflow as tf\n\nd = e.map(f, n=tf.x)\n",
        ),
        (
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nd = e.map(f)\n",
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"
            "import tensorflow as tf\nd = e.map(f, n=tf.x)\n",
        ),
        # The usual name means something else here.
        ("tf = 1\nd = e.map(f)\n", "import tensorflow\ntf = 1\nd = e.map(f, n=tensorflow.x)\n"),
        # Known only inside another function.
        (
            "def g():\n    import tensorflow as flow\nd = e.map(f)\n",
            "import tensorflow as tf\ndef g():\n    import tensorflow as flow\n"
            "d = e.map(f, n=tf.x)\n",
        ),
        (
            "def g():\n    import tensorflow as flow\n    d = e.map(f)\n",
            "def g():\n    import tensorflow as flow\n    d = e.map(f, n=flow.x)\n",
        ),
    ],
)
def test_an_import_is_added_only_where_it_is_needed(text: str, expected: str) -> None:
    line = text[: text.index("d = e")].count("\n") + 1
    assert after(text, SetKeyword(at(line), "map", "n", "tf.x", imports=(TENSORFLOW,))) == expected


EAGER = DropKeyword(at(1), "compile", "run_eagerly")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("m.compile(run_eagerly=debug)\n", "run_eagerly comes from `debug`"),
        ("m.compile(**given)\n", "**given may already carry run_eagerly"),
        ('m.compile("sgd")\n', "compile() is not given run_eagerly here; it is set elsewhere"),
    ],
)
def test_a_keyword_is_not_dropped_where_it_is_not_certain(text: str, reason: str) -> None:
    assert why_not(text, EAGER) == reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m.compile(run_eagerly=True)", "m.compile()"),
        ("m.compile(run_eagerly=True, loss=l)\n", "m.compile(loss=l)\n"),
        ("m.compile(loss=l, run_eagerly=True)\n", "m.compile(loss=l)\n"),
        ("m.compile(loss=l, run_eagerly=True,)\n", "m.compile(loss=l,)\n"),
        ("m.compile(loss=l, run_eagerly=True, **k)\n", "m.compile(loss=l, **k)\n"),
        ("m.compile(\n    run_eagerly=True\n)\n", "m.compile(\n)\n"),
        (
            "m.compile(\n    loss=l,\n    run_eagerly=True,\n    # end\n)\n",
            "m.compile(\n    loss=l,\n    # end\n)\n",
        ),
        (
            "m.compile(\r\n    loss=l,\r\n    run_eagerly=True\r\n)\r\n",
            "m.compile(\r\n    loss=l,\r\n)\r\n",
        ),
        # A comment may say more than why the keyword was there: it stays.
        (
            "m.compile(\n    run_eagerly=True,  # TODO: profile\n    loss=l,\n)\n",
            "m.compile(\n    # TODO: profile\n    loss=l,\n)\n",
        ),
        ("m.compile(loss=l,\n          run_eagerly=True)\n", "m.compile(loss=l)\n"),
        (
            "m.compile(loss=l,  # c\n          run_eagerly=True)\n",
            "m.compile(loss=l,  # c\n          )\n",
        ),
    ],
)
def test_drop_keyword_leaves_the_rest(text: str, expected: str) -> None:
    assert after(text, EAGER) == expected


PREDICT = RenameCall(
    at(1), "predict", "predict_on_batch", drop=("verbose", "batch_size"), takes=("x",)
)
FIT = RenameCall(
    at(1),
    "fit",
    "train_on_batch",
    drop=("verbose", "epochs"),
    takes=("x", "y"),
    positional=2,
    same_result=False,
)


@pytest.mark.parametrize(
    ("text", "edit", "reason"),
    [
        ("y = m.predict(x, 32)\n", PREDICT, "predict_on_batch() takes fewer arguments"),
        ("y = m.predict(x, callbacks=c)\n", PREDICT, "predict_on_batch() does not take callbacks"),
        ("y = m.predict(*x)\n", PREDICT, "*x may already carry"),
        ("h = m.fit(x, y)\n", FIT, "what fit() returns is used"),
        ("m.fit(x, y, epochs=3)\n", FIT, "epochs=3 asks for more than one step"),
        ("m.fit(x, y, epochs=n)\n", FIT, "epochs=n asks for more than one step"),
        ("y = m.predict(m.predict(x))\n", PREDICT, "line 1 has 2 calls of predict()"),
    ],
)
def test_a_call_with_more_to_it_keeps_its_name(text: str, edit: RenameCall, reason: str) -> None:
    assert why_not(text, edit).startswith(reason)


def test_rename_call() -> None:
    assert after("y = m.predict(x[None], verbose=0)[0]\n", PREDICT) == (
        "y = m.predict_on_batch(x[None])[0]\n"
    )
    assert after("m.fit(x, y,\n      epochs=1, verbose=0)\n", FIT) == "m.train_on_batch(x, y)\n"
    assert is_there("y = m.predict_on_batch(x)\n", PREDICT)


def wrapped(line: int, argument: int | str = "weight") -> WrapArgument:
    return WrapArgument(at(line), "step", argument, "tf.constant(", ")", at(3), (TENSORFLOW,))


STEP = "import tensorflow as tf\n\n@tf.function\ndef step(batch, weight):\n    ...\n"


def test_wrap_argument_by_name_and_by_position() -> None:
    assert after(STEP + "step(x, i / 9)\n", wrapped(6)).endswith("step(x, tf.constant(i / 9))\n")
    assert after(STEP + "step(x, weight=(i))\n", wrapped(6)).endswith(
        "step(x, weight=tf.constant((i)))\n"
    )
    assert after("import tensorflow\nstep(x, i)\n", wrapped(2, 1)).endswith(
        "step(x, tensorflow.constant(i))\n"
    )
    assert is_there(STEP + "step(x, tf.constant(0.5))\n", wrapped(6))


def test_an_argument_that_cannot_be_told_is_not_wrapped() -> None:
    assert why_not(STEP + "step(x)\n", wrapped(6)) == "step() is not given weight here"
    assert why_not(STEP + "step(*x)\n", wrapped(6)).startswith("*x may already carry weight")
    # The definition is elsewhere: its positions are not known.
    assert why_not("step(x, i)\n", wrapped(1)) == "the file has no line 3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.fit(rows(), epochs=3)\n", "model.fit(ahead(rows()), epochs=3)\n"),
        ("model.fit(x=gen, epochs=3)\n", "model.fit(x=ahead(gen), epochs=3)\n"),
        (
            "model.fit(\n    rows(a, b),  # all\n)\n",
            "model.fit(\n    ahead(rows(a, b)),  # all\n)\n",
        ),
    ],
)
def test_wrapping_by_name_or_by_position(text: str, expected: str) -> None:
    assert after(text, WrapArgument(at(1), "fit", "x", "ahead(", ")", position=0)) == expected


def test_a_value_that_was_measured_to_be_wrong_is_overridden() -> None:
    text = "model.fit(x, validation_steps=len(x_val), epochs=3)\n"
    plain = SetKeyword(at(1), "fit", "validation_steps", "100")
    assert "comes from `len(x_val)`" in why_not(text, plain)
    measured = replace(plain, overrides=True)
    assert after(text, measured) == "model.fit(x, validation_steps=100, epochs=3)\n"
