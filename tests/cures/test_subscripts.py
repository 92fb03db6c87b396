"""An HDF5 dataset read into memory where it is opened."""

from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import ReadAll

EDIT = ReadAll(at(1), "/train/images")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", '["/train/images"] was not found once at line 1'),
        ('x = f["images"]\n', '["/train/images"] was not found once'),
        ("x = f[name]\n", '["/train/images"] was not found once'),
        ('x = a["train/images"], b["train/images"]\n', '["/train/images"] was not found once'),
        ('x = f["train/images"][rows]\n', '["/train/images"] is indexed where it is opened'),
        ('n = f["train/images"].shape\n', "an attribute of"),
    ],
)
def test_declined_where_it_is_not_certain(text: str, reason: str) -> None:
    assert why_not(text, EDIT).startswith(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'self.x = h5py.File(path)["train/images"]  # big\n',
            'self.x = h5py.File(path)["train/images"][:]  # big\n',
        ),
        ("x = f['/train/images']\n", "x = f['/train/images'][:]\n"),
        ('use(f["train/images"], 3)\n', 'use(f["train/images"][:], 3)\n'),
    ],
)
def test_the_whole_of_it_is_read(text: str, expected: str) -> None:
    assert after(text, EDIT) == expected
    assert is_there(expected, EDIT)
