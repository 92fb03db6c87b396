"""Every pattern: what it must not say first, then what it must."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fitdoctor.lint.check import SYNTAX, check_file, python_files
from fitdoctor.lint.patterns import all_patterns

CASEBOOK = Path(__file__).parents[2] / "casebook"
START = "import keras\nimport numpy as np\nimport tensorflow as tf\n"

SILENT = {
    "a wish for compiled steps": "m.compile(loss='mse', run_eagerly=False)",
    "no keras at all": "import re\nfor x in y:\n    re.compile(x)\n    m.predict(x[None])",
    "an expression of the library re": "for x in y:\n    re.compile(x)",
    "a new model in every round": "for w in y:\n    m = make(w)\n    m.compile(loss='mse')",
    "compile in a function that a loop calls": "def f():\n    m.compile(loss='mse')",
    "one predict for all": "m.predict(rows)",
    "one row, once": "m.predict(row[None])",
    "a batch in a loop": "for b in batches:\n    m.predict(b)",
    "rows two by two": "for i in r:\n    m.predict(x[i:i + 2])",
    "a tensor as argument": """
        @tf.function
        def f(x, w): return x * w
        for i in range(9):
            w = tf.constant(i / 9)
            f(x, w)
        """,
    "the same number every time": """
        @tf.function
        def f(x, w): return x * w
        for x in data:
            f(x, 0.5)
        """,
    "a fixed signature": """
        @tf.function(input_signature=s)
        def f(w): return w
        for i in range(9):
            f(i)
        """,
    "numpy on a shape": """
        class L(keras.layers.Layer):
            def call(self, x):
                return x / np.sqrt(x.shape[-1]) + np.prod(x.shape)
        """,
    "numpy outside call": """
        class L(keras.layers.Layer):
            def build(self, x):
                self.w = np.sqrt(x)
        """,
    "cache before the random map": "ds = ds.cache().map(lambda x: tf.image.random_flip(x))",
    "shuffle before batch": "ds = ds.shuffle(9).batch(3)",
    "shuffle after unbatch": "ds = ds.batch(3).unbatch().shuffle(9)",
    "split before the map": "a = ids.skip(9).map(decode)",
    "take stops early": "a = ds.map(decode).take(9)",
    "a cache between": "a = ds.map(decode).cache().skip(9)",
    "every tenth batch": """
        class C(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch % 10 == 0:
                    self.model.evaluate(x, y)
        """,
    "once an epoch": """
        class C(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                self.model.save('a.keras')
        """,
    "workers where they belong": "d = Data(workers=4, use_multiprocessing=True)",
    "jit where it may help": "m.compile(loss='mse', jit_compile=True)",
    "missing prefetch and parallel calls": "ds = ds.map(f).batch(3)",
    "a header line": "a = lines.map(parse).skip(1)",
    "finished batches, cached and mixed": "ds = ds.batch(3).map(f).cache().shuffle(9)",
    "a model that the loop makes, as an attribute": """
        for w in y:
            self.model = make(w)
            self.model.compile('adam', 'mse')
        """,
    "a model that grows in every round": """
        for size in (8, 16):
            m.grow(size)
            m.compile(optimizer='adam', loss='mse')
            m.fit(x)
        """,
    "layers thawed in every round": """
        for layer in reversed(base.layers):
            layer.trainable = True
            m.compile(optimizer='adam', loss='mse')
        """,
    "another loss in every round": "for loss in losses:\n    m.compile('adam', loss=loss)",
    "the owner of the model is made in the loop": """
        for p in y:
            stopper = make(p)
            stopper.model.compile(loss='mse', optimizer='sgd')
        """,
    "batch in one half, shuffle in the other": """
        if n:
            ds = ds.shuffle(9)
            ds = ds.batch(n)
        else:
            ds = ds.shuffle(9)
        """,
    "another library's compile": "for x in y:\n    p = shader.compile('fast')",
    "a traced function for each model": """
        for model in models:
            call = tf.function(model.call)
        for model in models:
            @tf.function
            def step(x): return model(x)
        """,
    "a traced function made once": "f = tf.function(g)\nfor x in y:\n    f(x)",
    "saving once an epoch": "keras.callbacks.ModelCheckpoint(p, save_freq='epoch')",
}
FIRES = {
    "HO004": ["m.compile(loss='mse', run_eagerly=True)", "tf.config.run_functions_eagerly(True)"],
    "CO001": [
        "for e in range(9):\n    m.compile(optimizer='adam', loss='mse')",
        "@tf.function\ndef f(w): return w\nfor i, x in enumerate(d):\n    w = i / 9\n    f(w)",
        "@tf.function\ndef f(n): return n\nfor i in range(9):\n    f(n=i)",
        "for e in range(9):\n    m.compile('adam', 'mse')",
        "for e in range(9):\n    m.compile(optimizer=keras.optimizers.Adam(0.9**e), loss='mse')\n"
        "    m.fit(x)",
        "for e in range(9):\n    self.m.compile(keras.optimizers.SGD(0.1))",
        "class T:\n    @tf.function\n    def step(self, n): return n\n    def go(self):\n"
        "        for i in range(9):\n            self.step(i)",
        "for e in range(9):\n    f = tf.function(g)\n    f(x)",
        "for e in range(9):\n    @tf.function\n    def f(x):\n        h = x\n        return h",
    ],
    "HO001": [
        "for x in y:\n    m.predict(x[None].astype('f4'), verbose=0)",
        "for x in y:\n    r = np.expand_dims(x, axis=0)\n    m.predict(r)",
        "while go:\n    m.predict(x.reshape(1, -1))",
        "while go:\n    m.predict(np.array([x]))",
        "for i in r:\n    m.predict(x[i:i + 1])",
        "for i in r:\n    m.fit(x[np.newaxis], y[np.newaxis])",
    ],
    "MO004": [
        "class L(keras.layers.Layer):\n    def call(self, x):\n        return np.tanh(x)",
        "class L(keras.Model):\n    def call(self, x):\n        return x.numpy()",
    ],
    "IN004": [
        "def f(x): return tf.image.random_flip_left_right(x)\nds = ds.map(f)\nds = ds.cache()"
    ],
    "IN006": ["if n:\n    ds = ds.batch(3)\nds = ds.shuffle(9)",
              "ds = ds.batch(3).map(f).shuffle(9)", "b = ds.batch(3)\nc = b.shuffle(9)"],
    "IN007": ["a = ds.map(decode)\nv = a.skip(900).batch(3)", "v = ds.map(decode).skip(n)"],
    "CB001": [
        "class C(keras.callbacks.Callback):\n    def on_train_batch_end(self, b, logs=None):\n"
        "        self.model.save_weights('w')"
    ],
    "CB003": ["keras.callbacks.ModelCheckpoint('p', save_freq=1)"],
    "IN008": ["m.fit(x, workers=4, use_multiprocessing=True)"],
    "CO004": [
        "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nm.compile(loss='a', jit_compile=True)"
    ],
}  # fmt: skip


def found(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "a.py"
    file.write_text(text, encoding="utf-8")
    return [finding.code for finding in check_file(file)]


@pytest.mark.parametrize("name", SILENT)
def test_silent(tmp_path: Path, name: str) -> None:
    start = "" if name == "no keras at all" else START
    assert found(tmp_path, start + textwrap.dedent(SILENT[name])) == []


@pytest.mark.parametrize(("code", "text"), [(c, t) for c, texts in FIRES.items() for t in texts])
def test_fires(tmp_path: Path, code: str, text: str) -> None:
    assert found(tmp_path, START + text) == [code]


def test_every_pattern_is_tried() -> None:
    assert {pattern.code for pattern in all_patterns()} == set(FIRES)


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# fitdoctor: ignore[HO004]", []),
        ("# fitdoctor: ignore", []),
        ("# fitdoctor: ignore[CO001, ho004]", []),
        ("# fitdoctor: ignore[CO001]", ["HO004"]),
    ],
)
def test_comments_leave_findings_out(tmp_path: Path, comment: str, left: list[str]) -> None:
    line = f"m.compile(loss='mse', run_eagerly=True)  {comment}\n"
    assert found(tmp_path, START + line) == left


def test_a_comment_inside_a_text_is_no_comment(tmp_path: Path) -> None:
    text = "m.compile(loss='# fitdoctor: ignore', run_eagerly=True)\n"
    assert found(tmp_path, START + text) == ["HO004"]


def test_run_eagerly_changes_nothing_on_torch(tmp_path: Path) -> None:
    text = "import os\nos.environ['KERAS_BACKEND'] = 'torch'\nm.compile(run_eagerly=True)"
    assert found(tmp_path, START + text) == []


@pytest.mark.parametrize("content", [b"def (:\n", b"\xff\xfe\x00", b"x = '\x00'\n", b"  x\n y\n"])
def test_what_is_not_python_is_reported_and_the_rest_goes_on(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "bad.py").write_bytes(content)
    (tmp_path / "good.py").write_text(START + "m.compile(run_eagerly=True)")
    codes = [f.code for file in python_files([tmp_path]) for f in check_file(file)]
    assert codes == [SYNTAX, "HO004"]


@given(st.text(max_size=200))
def test_no_text_breaks_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.py"
    file.write_text("import keras\n" + text, encoding="utf-8", errors="replace")
    check_file(file)


def test_healthy_and_cured_scripts_of_the_casebook_are_left_alone() -> None:
    files = [*CASEBOOK.glob("H*/slow.py"), *CASEBOOK.glob("*/fixed.py")]
    assert len(files) > 50
    assert [f for file in files for f in check_file(file)] == []


@pytest.mark.parametrize(
    ("case", "code"),
    [("S15", "IN007"), ("S20", "HO001"), ("S25", "HO004"), ("S25_jax", "HO004"), ("S27", "CO001"),
     ("S28", "CO001"), ("S33", "CB001"), ("S33_torch", "CB001")],
)  # fmt: skip
def test_slow_scripts_of_the_casebook(case: str, code: str) -> None:
    assert [f.code for f in check_file(CASEBOOK / case / "slow.py")] == [code]
