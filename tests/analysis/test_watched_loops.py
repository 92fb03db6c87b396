"""A loop whose loader could not be seen, judged by what was seen of its stack."""

from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.loop import LoopLines, LoopShare, RepeatedCall
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.diagnosis import diagnose
from fitdoctor.findings.diagnosed import DiagnosedWorkload
from synthetic import MS, fit_workload, recording, timed

HOT = {"loading": "read", "step": "train", "own": "log"}


def lines(
    loading: float, step: float, own: float, *, cores: float = 1.0, samples: int = 500
) -> LoopLines:
    def share(name: str, part: float) -> LoopShare:
        return LoopShare(
            ns=round(part * 2e9),
            cpu_ns=round(part * 2e9 * cores),
            process_cpu_ns=round(part * 2e9 * cores),
            samples=round(part * samples),
            lines=(("/user/train.py", 41, HOT[name], 9),) if part else (),
        )

    return LoopLines(
        loading=share("loading", loading),
        step=share("step", step),
        own=share("own", own),
        iterations=40,
        maker=("/user/data.py", 30, "batches") if loading else None,
        native=NativePart(native_ns=0, events=500, traced_ns=50 * MS, complete=True, random=True),
    )


def judged(
    seen: LoopLines,
    *,
    marker: str = "optimizer",
    backend: str = "torch",
    found: tuple[object, ...] = (),
) -> DiagnosedWorkload:
    made: tuple[object, ...] = ()
    if seen.maker:
        file, line, name = seen.maker
        made = (InputFacts(kind="generator", name=name, file=file, line=line),)
    workload = fit_workload(
        kind="loop",
        period=20 * MS,
        step=2 * MS,
        wait=None,
        detail={"marker": marker, "backend": backend},
        found=[seen, *made, *found],
    )
    return diagnose(recording(workload, backend=backend)).workloads[0]


def share_of(workload: DiagnosedWorkload, name: str) -> float:
    return next((part.share for part in workload.breakdown if part.part == name), 0.0)


def test_a_loop_in_the_framework_is_not_healthy_by_that_alone() -> None:
    found = judged(lines(0.03, 0.95, 0.02))
    assert (found.verdict, found.findings) == ("not-judged", ())
    assert "could not be examined by itself" in found.sentence
    assert share_of(found, "step") == pytest.approx(0.95, abs=0.02)


def test_of_a_loop_that_was_hardly_watched_the_clock_is_left() -> None:
    found = judged(lines(0.8, 0.15, 0.05, samples=20))
    assert (found.verdict, found.findings) == ("host-bound", ())
    assert "your own code around the step" in found.sentence


def test_own_code_is_a_finding_with_a_bound() -> None:
    found = judged(lines(0.0, 0.4, 0.6))
    assert found.verdict == "host-bound"
    (finding,) = found.findings
    assert (finding.rule, finding.how) == ("HO005", "bound")
    assert finding.gain.value == pytest.approx(1 / 0.4, rel=0.02)


def test_a_slow_python_generator_is_found() -> None:
    found = judged(lines(0.8, 0.18, 0.02))
    first = found.findings[0]
    assert first.rule == "IN001"
    assert first.where is not None
    assert first.where.line == 41
    assert first.gain is not None
    assert first.gain.value == pytest.approx(5.0, rel=0.15)
    assert share_of(found, "input_wait") == pytest.approx(0.8, abs=0.02)


def test_so_it_is_beside_a_compiled_step() -> None:
    found = judged(
        lines(0.8, 0.18, 0.02),
        marker="jax.jit",
        backend="jax",
        found=(timed(RepeatedCall, 3 * MS),),
    )
    assert found.findings[0].rule == "IN001"


def test_a_generator_that_waits_reads_one_by_one() -> None:
    found = judged(lines(0.8, 0.18, 0.02, cores=0.05))
    assert found.findings[0].rule == "IN002"
    assert "PyDataset" not in found.findings[0].cure.summary
