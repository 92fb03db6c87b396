"""Bringing a device up, timed in a process that does nothing else."""

from __future__ import annotations

import os
import sys

import pytest
from test_crossover import run

from fitdoctor.devices.initialisation import FIRST_ARRAY, initialisation_ns
from fitdoctor.devices.judgement import judge
from fitdoctor.report.device_comparison import devices_text


def test_an_unknown_backend_is_not_measured() -> None:
    assert initialisation_ns([sys.executable], "numpy", {}) is None


def test_an_interpreter_that_is_missing_or_fails_is_not_measured() -> None:
    assert initialisation_ns(["/nowhere/python"], "torch", {}) is None
    assert initialisation_ns([sys.executable, "-c", "raise SystemExit(1)"], "torch", {}) is None


@pytest.mark.parametrize("backend", sorted(FIRST_ARRAY))
def test_each_backend_is_timed_without_its_import(backend: str) -> None:
    took = initialisation_ns([sys.executable], backend, {"CUDA_VISIBLE_DEVICES": "-1"})
    assert took is not None
    assert took > 0
    assert os.environ.get("CUDA_VISIBLE_DEVICES") != "-1"


def test_it_stands_in_the_table_or_says_that_it_is_missing() -> None:
    from dataclasses import replace

    cpu = replace(run("cpu", 1, 2, 4, 8), initialisation_ns=250_000_000)
    gpu = run("gpu", 1, 1, 1, 1)
    text = devices_text(judge({"cpu": cpu, "gpu": gpu}, ()))
    (line,) = [line for line in text.splitlines() if "the device" in line]
    assert "250 ms" in line
    assert "not measured" in line
    assert "the device" not in devices_text(judge({"gpu": gpu}, ()))
