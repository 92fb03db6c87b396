from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fitdoctor.contract.writer import Writer
from fitdoctor.inside.ledger.iterator_changes import ITERATOR_WAIT_NS
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.workload import Workload


class Model:
    steps_per_execution = 1

    def train_function(self, *_: Any) -> None:
        """Do nothing."""


def waits(tmp_path: Path, *changes: int) -> list[dict[str, Any]]:
    """What is recorded when iterators take these times from being asked for to the step."""
    path = tmp_path / "one.rec"
    recorder = Recorder(Writer(str(path)))
    call = Call(recorder, Workload(0, "fit", None, recorder.writer), "fit", Model(), {}, None)
    recorder.calls.append(call)
    for took in changes:
        begin = recorder.clock()
        call.iterator_asked = begin - took
        call._step_done(begin, begin + 1000)
        call._step_done(begin + 2000, begin + 3000)
    recorder.flush()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [r for r in records if r.get("name") == "iterator_wait"]


def test_the_first_iterator_only_has_to_be_made(tmp_path: Path) -> None:
    assert waits(tmp_path, 5 * ITERATOR_WAIT_NS) == []


def test_a_change_as_long_as_the_first_is_no_wait(tmp_path: Path) -> None:
    first = 5 * ITERATOR_WAIT_NS
    assert waits(tmp_path, first, first, first + ITERATOR_WAIT_NS // 2) == []


def test_what_a_later_change_takes_longer_is_a_wait(tmp_path: Path) -> None:
    found = waits(tmp_path, 1000, 1000 + 3 * ITERATOR_WAIT_NS, 1000)
    assert [round(one["dur"] / ITERATOR_WAIT_NS, 3) for one in found] == [3.0]
