"""grain datasets taken apart; these tests fail when grain keeps its functions elsewhere."""

from __future__ import annotations

import time

import pytest

from fitdoctor.inside.lab.probes.stages import grain_stages
from fitdoctor.inside.seams.inputs.grain_chain import stages
from fitdoctor.inside.seams.not_available import NotAvailable

grain = pytest.importorskip("grain")


def parse(number: int) -> int:
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass
    return number


class Scale(grain.transforms.Map):
    def map(self, element: int) -> int:
        return 2 * element


def test_what_does_not_tell_of_its_stages() -> None:
    assert stages(None) == ()
    with pytest.raises(NotAvailable):
        grain_stages(object())


def test_stages_are_named_as_they_were_written_with_the_users_lines() -> None:
    dataset = grain.MapDataset.source(list(range(64))).shuffle(seed=1).map(parse).map(Scale())
    found = stages(dataset.batch(8).to_iter_dataset())
    assert [stage.op for stage in found][-5:] == ["batch", "map", "map", "shuffle", "source"]
    scaled, parsed = found[-4], found[-3]
    assert (parsed.file, parsed.line) == (__file__, parse.__code__.co_firstlineno)
    assert (scaled.file, scaled.line) == (__file__, Scale.map.__code__.co_firstlineno)
    assert [stage.inputs for stage in found] == [(n + 1,) for n in range(len(found) - 1)] + [()]


def test_an_empty_dataset_is_not_timed() -> None:
    with pytest.raises(NotAvailable):
        grain_stages(grain.MapDataset.source([]).batch(4))


@pytest.mark.measures
def test_the_slow_stage_is_found_and_the_rest_is_cheap() -> None:
    dataset = grain.MapDataset.source(list(range(64))).map(parse).map(Scale()).batch(8)
    rows = {row.n: row for row in grain_stages(dataset).rows}
    assert [rows[n].per_batch for n in range(4)] == [1, 8, 8, 8]
    # It works for 1 ms an element, the others for microseconds.
    assert rows[2].own_ns > 3 * max(rows[n].own_ns for n in (1, 3))
    assert rows[2].own_cpu_ns > 3 * max(rows[n].own_cpu_ns for n in (1, 3))
    assert rows[0].ns >= 0.5 * rows[2].ns
