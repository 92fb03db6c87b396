from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import LongerEpochs

FIFTY = LongerEpochs(at(1), 50)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model.fit(data, epochs=75)", "75 epochs are no multiple of 50"),
        ("model.fit(data, epochs=25)", "no multiple"),
        ("model.fit(data)", "is not given epochs"),
        ("model.fit(epochs=100)", "is not given its data"),
        ("model.fit(data, epochs=100, steps_per_epoch=3)", "steps_per_epoch, which counts"),
        ("model.fit(data, epochs=100, initial_epoch=50)", "initial_epoch, which counts"),
        ("model.fit(data, **more)", "may already carry"),
        ("model.train(data, epochs=100)", "no call of fit()"),
    ],
)
def test_declines(text: str, why: str) -> None:
    assert why in why_not(text + "\n", FIFTY)


def test_a_repeated_dataset_stays() -> None:
    assert is_there("model.fit(data.repeat(3), epochs=100)\n", FIFTY)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("model.fit(data, epochs=500)", "model.fit(data.repeat(50), epochs=10)"),
        ("model.fit(x=make(1), epochs=n)", "model.fit(x=make(1).repeat(50), epochs=n // 50)"),
        (
            "model.fit(a or b, None, None, 500 * rounds)",
            "model.fit((a or b).repeat(50), None, None, (500 * rounds) // 50)",
        ),
        (
            "fit(\n    data,  # all\n    epochs=100,\n)",
            "fit(\n    data.repeat(50),  # all\n    epochs=2,\n)",
        ),
    ],
)
def test_the_same_steps_in_fewer_epochs(text: str, changed: str) -> None:
    assert after(text + "\n", FIFTY) == changed + "\n"
