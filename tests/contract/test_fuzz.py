"""A damaged recording is refused in one line or reported with a warning; never a traceback.

The long run is `python -m benchmarks.fuzz`.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from benchmarks.fuzz.__main__ import fuzz
from benchmarks.fuzz.damage import damaged
from benchmarks.fuzz.seeds import all_seeds, whole
from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.results import all_kinds, kind_of
from fitdoctor.diagnosis import diagnose

COUNT = 250


def test_no_damage_ends_in_a_traceback() -> None:
    tally = fuzz(COUNT, seed=2026)
    assert tally.examples == {}
    # It went through all of the chain, not only through the reader.
    assert tally.findings > COUNT / 4 and tally.damaged > COUNT / 4 and tally.refused


def test_the_seeds_are_undamaged(tmp_path: Path) -> None:
    for number, seed in enumerate(all_seeds()):
        path = tmp_path / f"{number}.rec"
        path.write_text("".join(json.dumps(line) + "\n" for line in seed))
        assert read_recording(path).damage == ()


def test_every_kind_of_result_is_damaged() -> None:
    names = [line["name"] for line in whole() if line["k"] == "probe" and line["status"] == "ok"]
    assert {found[0] for name in names if (found := kind_of(name))} == set(all_kinds().values())


def test_the_same_number_gives_the_same_damage() -> None:
    assert damaged(whole(), random.Random("5")) == damaged(whole(), random.Random("5"))


def test_workloads_that_are_each_others_parents_end(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    lines = whole()
    fit = next(line for line in lines if line["k"] == "workload")
    lines.insert(lines.index(fit), {**fit, "w": 2, "parent": 1})
    fit["parent"] = 2
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    diagnose(read_recording(path))


@pytest.mark.parametrize("text", ["", "\n", "{}\n", "\x00" * 99, "[" * 100_000])
def test_what_is_no_recording_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.rec"
    path.write_text(text)
    with pytest.raises(RecordingError) as error:
        read_recording(path)
    assert "\n" not in error.value.message
