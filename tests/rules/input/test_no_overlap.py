from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.places import CallLine
from fitdoctor.findings.edits import Edit, SetKeyword
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.no_overlap import RULE
from fitdoctor.rules.input.serial_reads import RULE as SERIAL_READS
from synthetic import MS, fit_workload, loader, timed, view


def in_turns(
    period: float,
    load: float,
    step: float,
    *,
    load_cores: float = 0.05,
    step_cores: float = 1.8,
    kind: str = "generator",
    waited: float | None = None,
    made: CallLine | None = None,
    file: str | None = "/user/data.py",
) -> View:
    found = (
        timed(FrozenBatch, step, own_cores=step_cores),
        loader(load, cores=load_cores, user_share=1.0),
        InputFacts(kind=kind, file=file, line=3, made=made),
    )
    workload = fit_workload(
        period=round(period),
        step=round(period - waited if waited else step),
        wait=round(waited or period - step),
        found=found,
    )
    return view(workload, backend="torch")


def fired(seen: View) -> Finding:
    found = RULE.detect(seen)
    assert found is not None
    return found


def test_silent_when_they_overlap_already() -> None:
    assert RULE.detect(in_turns(36 * MS, 30 * MS, 35 * MS)) is None


def test_silent_when_they_run_side_by_side_and_share_the_cores() -> None:
    assert RULE.detect(in_turns(65 * MS, 30 * MS, 35 * MS, waited=10 * MS)) is None


def test_silent_for_arrays_which_are_only_sliced() -> None:
    assert RULE.detect(in_turns(65 * MS, 30 * MS, 35 * MS, kind="arrays")) is None


def test_silent_when_the_loader_is_far_slower() -> None:
    assert RULE.detect(in_turns(310 * MS, 300 * MS, 10 * MS)) is None


def test_silent_when_no_core_is_free_for_both() -> None:
    assert RULE.detect(in_turns(65 * MS, 30 * MS, 35 * MS, load_cores=2.0)) is None


def test_a_loader_that_waits_needs_no_core() -> None:
    assert RULE.detect(in_turns(60 * MS, 30 * MS, 30 * MS, step_cores=2.0)) is not None
    assert RULE.detect(in_turns(60 * MS, 30 * MS, 30 * MS, step_cores=2.0, load_cores=0.5)) is None


def test_fires_when_they_take_turns() -> None:
    found = fired(in_turns(65 * MS, 30 * MS, 35 * MS))
    assert found.gain.value == pytest.approx(65 / 35, rel=0.08)
    assert "PyDataset" in found.cure.summary
    assert found.where == Where("/user/data.py", 3)


def test_data_made_unseen_is_placed_at_the_line_that_trains() -> None:
    found = fired(in_turns(65 * MS, 30 * MS, 35 * MS, file=None))
    assert found.where == Where("/user/train.py", 88)


def test_serial_reads_leave_turns_to_this_rule() -> None:
    assert SERIAL_READS.detect(in_turns(65 * MS, 30 * MS, 35 * MS)) is None
    assert SERIAL_READS.detect(in_turns(310 * MS, 300 * MS, 10 * MS)) is not None


def test_workers_are_given_where_the_loader_is_made() -> None:
    where = Where("/user/t.py", 8)

    def edits(kind: str, call: str) -> tuple[Edit, ...]:
        made = CallLine(call=call, file="/user/t.py", line=8)
        return fired(in_turns(65 * MS, 30 * MS, 35 * MS, kind=kind, made=made)).cure.edits

    (ahead,) = edits("generator", "rows")
    assert ahead.in_words() == "pass x of fit() as fitdoctor.read_ahead(…)"
    assert edits("PyDataset", "Rows") == (SetKeyword(where, "Rows", "workers", "2"),)
    assert edits("DataLoader", "DataLoader") == (
        SetKeyword(where, "DataLoader", "num_workers", "2", 5),
        SetKeyword(where, "DataLoader", "persistent_workers", "True"),
    )


def test_a_generator_that_several_fits_read_is_not_read_ahead() -> None:
    seen = in_turns(65 * MS, 30 * MS, 35 * MS)
    twice = replace(seen.recorded, calls=seen.recorded.calls * 2)
    found = fired(view(twice, backend="torch"))
    assert (found.cure.safety, found.cure.edits) == ("advice", ())


def test_reading_ahead_is_safe_only_where_nothing_random_is_drawn() -> None:
    assert fired(in_turns(65 * MS, 30 * MS, 35 * MS)).cure.safety == "unsafe"


@pytest.mark.parametrize("kind", ["PyDataset", "DataLoader"])
def test_workers_on_torch_change_the_order(kind: str) -> None:
    assert fired(in_turns(65 * MS, 30 * MS, 35 * MS, kind=kind)).cure.safety == "unsafe"


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "less than 1.5 steps" in RULE.page
    assert "at least 75 % of each batch's loading" in RULE.page
