"""Every result has one writer, a name and a reader: nothing is recorded that nobody asks for."""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import fitdoctor
from fitdoctor.contract.codec import BadValue
from fitdoctor.contract.evidence.model import ChangedStep, VectorisedStep
from fitdoctor.contract.evidence.step import FrozenBatch, StepsPerExecution
from fitdoctor.contract.results import (
    Evidence,
    all_kinds,
    from_record,
    is_family,
    kind_of,
    recorded_name,
    result,
    to_record,
)
from fitdoctor.inside.lab import probes as probes_package
from fitdoctor.inside.lab.probe import probes_of

SOURCE = Path(fitdoctor.__file__).parent
READERS = ("analysis", "rules", "pricing", "diagnosis", "report", "trials", "devices", "cures")
# Beside the probes: hand-written loops are examined while they run, fresh runs by the parent, and
# the ranks of a launch are compared when they are reported.
OTHER_WRITERS = ("inside/lab/*.py", "trials/*.py", "analysis/ranks.py")


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


@functools.cache
def probes() -> tuple[tuple[str, Any], ...]:
    """Each probe with the name of its module."""
    found = []
    for module in pkgutil.iter_modules(probes_package.__path__):
        loaded = importlib.import_module(f"{probes_package.__name__}.{module.name}")
        found += [(module.name, probe) for probe in probes_of(loaded)]
    return tuple(found)


def writers(kind: type) -> set[str]:
    """The modules that write a result of this kind."""
    in_probes = {module for module, probe in probes() if probe.finds is kind}
    if in_probes:
        return in_probes
    files = [path for pattern in OTHER_WRITERS for path in SOURCE.glob(pattern)]
    return {path.stem for path in files if kind.__name__ in names_in(path)}


@pytest.mark.parametrize("name", sorted(all_kinds()))
def test_a_result_is_written_by_one_module(name: str) -> None:
    kind = all_kinds()[name]
    found = writers(kind)
    assert found, f"{kind.__name__} is written by no probe"
    assert len(found) == 1 or is_family(kind), f"{kind.__name__} is written by {sorted(found)}"


@pytest.mark.parametrize("name", sorted(all_kinds()))
def test_a_result_is_read(name: str) -> None:
    kind = all_kinds()[name]
    files = [path for room in READERS for path in (SOURCE / room).rglob("*.py")]
    assert any(kind.__name__ in names_in(path) for path in files), f"{kind.__name__} is not read"


def test_no_two_probes_write_under_one_name() -> None:
    names = [probe.name for _, probe in probes()]
    assert sorted(names) == sorted(set(names))


def test_names_lead_to_kinds_and_back() -> None:
    assert recorded_name(FrozenBatch) == "frozen_batch"
    assert kind_of("frozen_batch") == (FrozenBatch, "")
    assert recorded_name(ChangedStep, "float32") == "step_float32"
    assert kind_of("step_float32") == (ChangedStep, "float32")
    assert kind_of("steps_per_execution_16") == (StepsPerExecution, "16")


def test_a_single_result_comes_before_a_family_of_the_same_beginning() -> None:
    assert kind_of("step_vectorised") == (VectorisedStep, "")


def test_names_of_later_versions_are_unknown() -> None:
    assert kind_of("quantum_step") is None
    assert from_record("quantum_step", {"ns": [1.0]}) is None


def test_a_result_is_checked() -> None:
    assert from_record("frozen_batch", {"ns": [2.0]}) == FrozenBatch(ns=(2.0,))
    with pytest.raises(BadValue, match=r"FrozenBatch\.ns"):
        from_record("frozen_batch", {"ns": [0.0]})
    assert to_record(FrozenBatch(ns=(2.0,)))["ns"] == [2.0]


def test_two_results_cannot_share_a_name() -> None:
    class Other:
        pass

    with pytest.raises(TypeError, match="frozen_batch"):
        result("frozen_batch")(Other)


def test_evidence_is_asked_for_by_its_class() -> None:
    frozen, step = FrozenBatch(ns=(2.0,)), ChangedStep(ns=(1.0,))
    vectorised = VectorisedStep(ns=(3.0,))
    found = Evidence({"frozen_batch": frozen, "step_float32": step, "step_vectorised": vectorised})
    assert found.found(FrozenBatch) is frozen
    assert found.found(ChangedStep, "float32") is step
    assert found.found(ChangedStep, "bfloat16") is None
