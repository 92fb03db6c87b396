"""Real trainings compared on every backend: the taps are private seams, and must fail loudly."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitdoctor.proof.equivalence import Equivalence
from fitdoctor.proof.measured import Limits, Measured
from fitdoctor.proof.proving import Prover
from fitdoctor.proof.side import Side
from proof.scripts import write_script

pytestmark = pytest.mark.end_to_end


def compared(folder: Path, steps: int, a: dict[str, object], b: dict[str, object]) -> Equivalence:
    sides = [
        Side(name, write_script(folder / f"{name}.py", **changes))
        for name, changes in (("A", a), ("B", b))
    ]
    measured = Measured(0, 3, 0, steps, 0, None, None, None, None, epoch_steps=steps)
    return Prover(folder, Limits()).equivalence(*sides, measured, "given")


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_steps_per_execution_trains_the_same(backend: str, tmp_path: Path) -> None:
    # 4 does not divide the 10 batches of an epoch: the last execution is not full.
    base: dict[str, object] = {"backend": backend, "batches": 10}
    found = compared(tmp_path, 20, base, {**base, "compile": "steps_per_execution=4"})
    assert (found.data_stream, found.learning) == ("identical", "bitwise"), found.detail
    assert "20 batches" in found.detail
    assert "4 weight arrays" in found.detail


def test_another_learning_rate_is_named_by_its_step(tmp_path: Path) -> None:
    base: dict[str, object] = {"backend": "torch"}
    found = compared(tmp_path, 12, base, {**base, "rate": 0.02})
    assert (found.data_stream, found.learning) == ("identical", "different"), found.detail
    assert "loss differs from step 2 on" in found.detail
    assert "weight" in found.detail


def test_data_that_change_from_run_to_run_are_named(tmp_path: Path) -> None:
    base: dict[str, object] = {"data_seed": "None"}
    found = compared(tmp_path, 5, base, base)
    assert (found.data_stream, found.learning) == ("not-checked", "not-checked"), found.detail
    assert "run to run" in found.detail
