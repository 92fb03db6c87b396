"""Statements that only set something, and keywords whose call was not recorded."""

from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import (
    KERAS,
    OS,
    AddSetting,
    DropKeyword,
    DropSetting,
    RenameKeyword,
    SetKeyword,
)
from fitdoctor.findings.place import ANYWHERE

THREADS = ("OMP_NUM_THREADS", "set_num_threads")


def threads(line: int = ANYWHERE) -> DropSetting:
    return DropSetting(at(line), THREADS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "OMP_NUM_THREADS or set_num_threads is not set by a statement in this file"),
        ("count = torch.set_num_threads(8)\n", "OMP_NUM_THREADS or set_num_threads is not set"),
        ("torch.set_num_threads(args.threads)\n", "the setting comes from `args.threads`"),
        ('os.environ["OMP_NUM_THREADS"] = str(n)\n', "the setting comes from `str(n)`"),
        ("torch.set_num_threads(8); x = 1\n", "another statement is on the same line"),
        ("if big: torch.set_num_threads(8)\n", "OMP_NUM_THREADS or set_num_threads is not set"),
        ('os.environ["OTHER"] = "8"\n', "OMP_NUM_THREADS or set_num_threads is not set"),
        ('settings["OMP_NUM_THREADS"] = "8"\n', "OMP_NUM_THREADS or set_num_threads is not set"),
    ],
)
def test_a_setting_is_not_dropped_where_it_is_not_certain(text: str, reason: str) -> None:
    assert why_not(text, threads()).startswith(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('import os\nos.environ["OMP_NUM_THREADS"] = "32"\nx = 1\n', "import os\nx = 1\n"),
        ("os.environ['OMP_NUM_THREADS'] = '32'  # all of them\nx = 1\n", "x = 1\n"),
        ('environ["OMP_NUM_THREADS"] = "32"', ""),
        ('os.environ.setdefault("OMP_NUM_THREADS", "32")\r\nx = 1\r\n', "x = 1\r\n"),
        ("def f():\n    torch.set_num_threads(64)\n", "def f():\n    pass\n"),
        ("if big:\n    set_num_threads(64)  # why\nelse:\n    y()\n", None),
        (
            'os.environ["OMP_NUM_THREADS"] = "32"\nx = 1\ntorch.set_num_threads(32)\n',
            "x = 1\n",
        ),
    ],
)
def test_every_statement_that_sets_it_goes(text: str, expected: str | None) -> None:
    wanted = "if big:\n    pass  # why\nelse:\n    y()\n" if expected is None else expected
    assert after(text, threads()) == wanted


def test_only_the_recorded_statement_goes() -> None:
    text = "set_num_threads(2)\nset_num_threads(64)\n"
    assert after(text, threads(2)) == "set_num_threads(2)\n"
    assert why_not("x = 1\n", threads(1)).endswith("at line 1")


def test_an_option_by_its_name() -> None:
    edit = DropSetting(at(1), ("jax_disable_jit",))
    assert after('jax.config.update("jax_disable_jit", True)\nx = 1\n', edit) == "x = 1\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("LSTM(8)\n", "no call of LSTM() in this file is given unroll"),
        ("GRU(8, unroll=True)\n", "no call of LSTM() in this file is given unroll"),
        ("LSTM(8, unroll=fast)\n", "unroll comes from `fast`"),
        ("LSTM(8, unroll=True)\nLSTM(8, unroll=fast)\n", "unroll comes from `fast`"),
    ],
)
def test_a_keyword_that_is_nowhere_certain_stays(text: str, reason: str) -> None:
    assert why_not(text, DropKeyword(at(ANYWHERE), "LSTM", "unroll")) == reason


def test_a_keyword_goes_from_every_call_that_is_given_it() -> None:
    text = "a = LSTM(8, unroll=True)\nb = layers.LSTM(\n    8,\n    unroll=True,\n)\nLSTM(4)\n"
    expected = "a = LSTM(8)\nb = layers.LSTM(\n    8,\n)\nLSTM(4)\n"
    assert after(text, DropKeyword(at(ANYWHERE), "LSTM", "unroll")) == expected


def test_a_keyword_gets_another_value_where_it_is_given() -> None:
    edit = SetKeyword(at(ANYWHERE), "ModelCheckpoint", "save_freq", '"epoch"')
    text = "ModelCheckpoint(path)\nModelCheckpoint(\n    path,\n    save_freq=1,  # often\n)\n"
    assert after(text, edit) == text.replace("save_freq=1", 'save_freq="epoch"')
    assert is_there('ModelCheckpoint(path, save_freq="epoch")\n', edit)
    differing = "ModelCheckpoint(a, save_freq=1)\nModelCheckpoint(b, save_freq=500)\n"
    assert why_not(differing, edit) == "calls of ModelCheckpoint() are given different save_freq"


POLICY = 'keras.config.set_dtype_policy("mixed_bfloat16")'
HALF = AddSetting(at(1), POLICY, ("set_dtype_policy", "set_global_policy"), (KERAS,))
ON_CPU = AddSetting(
    at(1), 'os.environ["JAX_PLATFORMS"] = "cpu"', ("JAX_PLATFORMS",), (OS,), first=True
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f():\n    import keras\n", "`import keras` is not at the top of this file"),
        (
            'import keras\nkeras.config.set_dtype_policy("mixed_float16")\n',
            'it is set to "mixed_float16" at line 2',
        ),
        (
            "import keras\nkeras.mixed_precision.set_global_policy(args.policy)\n",
            "it is set to args.policy at line 2",
        ),
    ],
)
def test_a_setting_is_not_added_where_another_stands(text: str, reason: str) -> None:
    assert why_not(text, HALF) == reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import keras\nx = 1\n", f"import keras\n{POLICY}\nx = 1\n"),
        (
            '"""Doc."""\nimport os\n\nos.environ["A"] = "b"\n\nimport keras as k\nfrom a import b\n'
            "\nx()\n",
            '"""Doc."""\nimport os\n\nos.environ["A"] = "b"\n\nimport keras as k\nfrom a import b\n'
            'k.config.set_dtype_policy("mixed_bfloat16")\n\nx()\n',
        ),
        (
            "from tensorflow import keras\r\nx = 1\r\n",
            f"from tensorflow import keras\r\n{POLICY}\r\nx = 1\r\n",
        ),
        ("import tensorflow as tf\nx = 1\n", f"import tensorflow as tf\ntf.{POLICY}\nx = 1\n"),
    ],
)
def test_a_setting_behind_the_imports(text: str, expected: str) -> None:
    changed = after(text, HALF)
    assert changed == expected
    assert is_there(changed, HALF)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "import os\n\nimport keras\n",
            'import os\n\nos.environ["JAX_PLATFORMS"] = "cpu"\nimport keras\n',
        ),
        (
            '"""Doc."""\nfrom __future__ import annotations\nimport keras\nimport os\n',
            '"""Doc."""\nfrom __future__ import annotations\nimport os\n'
            'os.environ["JAX_PLATFORMS"] = "cpu"\nimport keras\nimport os\n',
        ),
    ],
)
def test_a_variable_is_set_before_the_libraries_are_imported(text: str, expected: str) -> None:
    assert after(text, ON_CPU) == expected
    assert is_there(expected, ON_CPU)


def test_a_variable_that_the_script_sets_is_the_scripts() -> None:
    text = 'import os\nos.environ["JAX_PLATFORMS"] = choice\nimport keras\n'
    assert why_not(text, ON_CPU) == "it is set to choice at line 2"
    assert why_not("x = 1\n", ON_CPU) == "this file imports no library at its top"


def recurrent(line: int = ANYWHERE) -> RenameKeyword:
    return RenameKeyword(at(line), "LSTM", "recurrent_dropout", "dropout")


def test_a_keyword_gives_its_value_to_another() -> None:
    text = "a = LSTM(8, recurrent_dropout=0.2)\nb = LSTM(4)\n"
    assert after(text, recurrent()) == "a = LSTM(8, dropout=0.2)\nb = LSTM(4)\n"
    assert after(text, recurrent(1)) == "a = LSTM(8, dropout=0.2)\nb = LSTM(4)\n"
    assert why_not(text, recurrent(2)) == "LSTM() is not given recurrent_dropout here"
    assert why_not("LSTM(8, recurrent_dropout=rate)\n", recurrent()).startswith("recurrent_dropout")


def test_a_keyword_goes_where_the_other_is_given() -> None:
    text = "LSTM(8, dropout=0.1, recurrent_dropout=0.2)\n"
    assert after(text, recurrent()) == "LSTM(8, dropout=0.1)\n"
