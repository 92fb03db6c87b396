from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import CastBefore, HoistCompile

CAST = CastBefore(at(3), "fit", "x", 0, "float32")
LOOP = "x, y = load()\nfor i in range(9):\n    model.fit(x, y)\n"


def test_cast_before_the_outermost_loop() -> None:
    assert after(LOOP, CAST) == LOOP.replace("for", 'x = x.astype("float32")\nfor')
    nested = "x = load()\nfor i in a:\n  while b: model.fit(x=x)\nprint(len(x), x.shape)\n"
    assert after(nested, CAST) == nested.replace("for", 'x = x.astype("float32")\nfor')
    inside = "def f(x):\n    for i in a:\n        model.fit(x)\n"
    assert '    x = x.astype("float32")\n    for' in after(inside, CAST)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = load()\n\nmodel.fit(x)\n", "fit() is not in a loop here"),
        ("x = load()\nfor i in a:\n    model.fit(x[i])\n", "x is not given as a variable"),
        (
            "x = load()\nfor i in a:\n    model.fit(x)\n    x = roll(x)\n",
            "x is assigned in the loop",
        ),
        ("y = 1\nfor x in a:\n    model.fit(x)\n", "x is assigned in the loop"),
        (
            "x = load()\nfor i in a:\n    model.fit(x)\nsave(x)\n",
            "x is also used at line 4",
        ),
        (
            "def f():\n  for i in a:\n    model.fit(x)\n",
            "x belongs to code outside this function",
        ),
        (
            "x = load()\nfor i in a:\n    model.fit(*x)\n",
            "*x may already carry x",
        ),
    ],
)
def test_cast_before_declines(text: str, reason: str) -> None:
    assert why_not(text, CAST) == reason


def test_a_cast_that_is_there() -> None:
    assert is_there('x = load().astype("float32")\nfor i in a:\n    model.fit(x)\n', CAST)


HOIST = HoistCompile(at(2))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "for e in a:\n    m.compile(Adam(r * 0.9**e), 'mse')  # slower\n    m.fit(x)\n",
            "m.compile(Adam(), 'mse')\nfor e in a:\n"
            "    m.optimizer.learning_rate = r * 0.9**e  # slower\n    m.fit(x)\n",
        ),
        (
            "for e in a:\n    m.compile(Adam(learning_rate=e, beta_1=0.8))\n    m.fit(x)\n",
            "m.compile(Adam(beta_1=0.8))\nfor e in a:\n"
            "    m.optimizer.learning_rate = e\n    m.fit(x)\n",
        ),
        (
            "for e in a:\n    m.compile(Adam(beta_1=0.8, learning_rate=e))\n    m.fit(x)\n",
            "m.compile(Adam(beta_1=0.8))\nfor e in a:\n"
            "    m.optimizer.learning_rate = e\n    m.fit(x)\n",
        ),
        (
            "for e in a:\n    m.compile(\n        'sgd',\n        'mse',\n    )\n    m.fit(x)\n",
            "m.compile(\n    'sgd',\n    'mse',\n)\nfor e in a:\n    m.fit(x)\n",
        ),
        (
            "for e in a:\r\n\tm.compile('sgd')\r\n\tm.fit(x)\r\n",
            "m.compile('sgd')\r\nfor e in a:\r\n\tm.fit(x)\r\n",
        ),
    ],
)
def test_hoist_compile(text: str, expected: str) -> None:
    assert after(text, HOIST) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 1\nm.compile('sgd')\n", "compile() is not in a loop here"),
        ("for e in a:\n    f(m.compile('sgd'))\n", "what compile() returns is used"),
        ("for m in a:\n    m.compile('sgd')\n", "compile() uses m, which changes in the loop"),
        ("for e in a:\n    m.compile('sgd', loss=e)\n", "compile() uses e, which changes"),
        (
            "for e in a:\n    m.compile(Adam(e, 0.8))\n",
            "the optimizer's other arguments are given by position",
        ),
        (
            "for e in a:\n    m.compile(Adam(Cosine(e)))\n",
            "the learning rate is a schedule made again in each round",
        ),
        ("for e in a:\n    m.compile(o)\n    o = f()\n", "compile() uses o, which changes"),
    ],
)
def test_hoist_compile_declines(text: str, reason: str) -> None:
    assert why_not(text, HOIST).startswith(reason)


def test_a_compile_in_a_branch_stays() -> None:
    text = "for e in a:\n    if e:\n        m.compile('sgd')\n"
    assert (
        why_not(text, HoistCompile(at(3))) == "compile() is not called in every round of its loop"
    )


METHOD = (
    "class Agent:\n"
    "    def begin(self, episode):\n"
    "        rate = 1e-2 / (1 + episode)\n"
    "        self.model.compile(optimizer=Adam(rate), loss='mse')  # anew\n"
)


def test_compile_in_a_method_is_done_once() -> None:
    assert after(METHOD, HoistCompile(at(4))) == (
        "class Agent:\n"
        "    def begin(self, episode):\n"
        "        rate = 1e-2 / (1 + episode)\n"
        "        if not self.model.compiled:\n"
        "            self.model.compile(optimizer=Adam(rate), loss='mse')\n"
        "        self.model.optimizer.learning_rate = rate  # anew\n"
    )
    plain = (
        "def start(model):\n    model.compile(\n        'sgd',\n        'mse',\n    )\n    go()\n"
    )
    assert after(plain, HoistCompile(at(2))) == (
        "def start(model):\n"
        "    if not model.compiled:\n"
        "        model.compile(\n"
        "            'sgd',\n"
        "            'mse',\n"
        "        )\n"
        "    go()\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(m, loss):\n    m.compile('sgd', loss)\n", "compile() uses loss, which may change"),
        ('def f(m):\n    m.compile(\'sgd\', """m\n    e""")\n', "compile() has long strings"),
        ("def f(m):\n    if late:\n        m.compile('sgd')\n", "compile() is not called in every"),
        (
            "def f(m, n):\n    m.compile(Adam(Decay(n)), 'mse')\n",
            "the learning rate is a schedule made again",
        ),
    ],
)
def test_compile_in_a_method_stays_where_it_may_differ(text: str, reason: str) -> None:
    line = 3 if "late" in text else 2
    assert why_not(text, HoistCompile(at(line))).startswith(reason)
