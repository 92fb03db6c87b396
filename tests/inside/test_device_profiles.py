"""Profiles recorded on a GPU: the account by layer agrees with the framework's own sums."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.contract.evidence.operations import BETWEEN, COPY_INSIDE, MEMSET, Operations
from fitdoctor.inside.seams.backends.device_work import union
from fitdoctor.inside.seams.operations import jax_profile, tensorflow_profile, torch_profile
from fitdoctor.inside.seams.operations.kernels import copy_kind, kernel_name
from fitdoctor.inside.seams.operations.profile import Profile, summed
from fitdoctor.inside.seams.operations.xspace import device_events, parsed

FOLDER = Path(__file__).parent / "profiles"
TRUTH = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))
COPIES = {*BETWEEN, COPY_INSIDE, MEMSET}
# XLA puts the others into kernels of these.
COMPUTING = {"conv_a", "norm_a", "dense_wide", "head"}


def kept(name: str) -> bytes:
    return gzip.decompress((FOLDER / name).read_bytes())


def tensorflow(case: str) -> Profile:
    pytest.importorskip("tensorflow")
    return tensorflow_profile.read(kept(f"{case}.xplane.pb.gz"))


def jax(case: str) -> Profile:
    data = pytest.importorskip("jax.profiler").ProfileData
    programs = json.loads(kept(f"{case}.names.json.gz"))

    def names(module: str, seen: set[str]) -> dict[str, str]:
        def common(one: dict[str, str]) -> int:
            return len({jax_profile.as_kernel(name) for name in one} & seen)

        return max(programs[module], key=common)

    return jax_profile.read(data.from_serialized_xspace(kept(f"{case}.xplane.pb.gz")), names)


def torch_events(case: str) -> list[Any]:
    return [
        SimpleNamespace(**one, time_range=SimpleNamespace(start=one["start"], end=one["end"]))
        for one in json.loads(kept(f"{case}.events.json.gz"))
    ]


def torch(case: str) -> Profile:
    return torch_profile.read(torch_events(case))


READERS = {
    "tensorflow_net_xla": tensorflow,
    "tensorflow_net_graph": tensorflow,
    "jax_net": jax,
    "torch_net": torch,
}


def account(case: str) -> Operations:
    truth = TRUTH[case]
    return summed(READERS[case](case), truth["steps"], truth["layers"], 1e12)


@pytest.mark.parametrize("case", READERS)
def test_kernels_and_copies_are_those_that_the_framework_counts(case: str) -> None:
    truth, profile = TRUTH[case], READERS[case](case)
    assert profile.on_device
    spans = [span for stream in profile.threads for span in stream]
    copies = [span for span in spans if span.key.op in COPIES]
    assert len(copies) == truth["copies"]
    assert len(spans) - len(copies) == truth["kernels"]
    busy = union((span.begin, span.end) for span in spans)
    assert busy == pytest.approx(truth["busy_ns"], rel=0.001)
    assert all(profile.begin <= span.begin < span.end <= profile.end for span in spans)


@pytest.mark.parametrize("case", READERS)
def test_the_account_sums_to_the_step(case: str) -> None:
    truth, found = TRUTH[case], account(case)
    assert found.on_device
    assert sum(row.ns for row in found.rows) * 3 == pytest.approx(truth["busy_ns"], rel=0.001)
    assert found.whole_ns == pytest.approx(found.wall_ns, rel=0.001)
    assert found.count * 3 == pytest.approx(truth["kernels"] + truth["copies"])


@pytest.mark.parametrize("case", READERS)
def test_kernels_belong_to_the_layers_that_started_them(case: str) -> None:
    found = account(case)
    layers = {row.layer for row in found.rows}
    assert layers - {None} <= set(TRUTH[case]["layers"])
    assert layers >= COMPUTING
    assert {row.layer for row in found.rows if row.backward} >= {"conv_a", "dense_wide", "head"}
    outside = sum(row.ns for row in found.rows if row.layer is None and row.op not in COPIES)
    assert outside < 0.6 * sum(row.ns for row in found.rows)


def test_copies_and_kernels_by_their_names() -> None:
    assert copy_kind("Memcpy DtoH (Device -> Pageable)") in BETWEEN
    assert copy_kind("Memset 3") == MEMSET
    assert copy_kind("memcpy32_post") == COPY_INSIDE
    assert kernel_name("input_reduce_fusion_3") == "input_reduce_fusion"
    assert kernel_name("void cudnn::ops::nchw<float>(int)") == "nchw"


def test_the_streams_of_tensorflow_say_what_started_a_kernel() -> None:
    pytest.importorskip("tensorflow")
    events = list(device_events(parsed(kept("tensorflow_net_graph.xplane.pb.gz"))))
    assert any("conv_a" in str(event.stats.get("tf_op")) for event in events)
    assert {event.stream.partition(" ")[0] for event in events} == {"/device:GPU:0"}
