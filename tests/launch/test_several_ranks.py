"""Several processes of one launch: known by variables, recorded apart, reported together."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.records import Recording
from fitdoctor.launch.ranks import Rank, newest_launch, own_rank, same_launch
from synthetic import recording

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "29500"}
SLURM = {"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}
MPI = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "8"}


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {**TORCHRUN, "WORLD_SIZE": "1", "RANK": "0"},
        {"RANK": "1"},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"},
        {"RANK": "x", "WORLD_SIZE": "2"},
    ],
)
def test_a_process_alone(variables: dict[str, str]) -> None:
    assert own_rank(variables) is None


@pytest.mark.parametrize(
    ("variables", "number", "world"), [(TORCHRUN, 1, 2), (SLURM, 3, 4), (MPI, 0, 8)]
)
def test_one_of_several(variables: dict[str, str], number: int, world: int) -> None:
    found = own_rank(variables)
    assert found is not None
    assert (found.number, found.world) == (number, world)


def test_torchrun_under_slurm_counts_its_own_processes() -> None:
    assert own_rank({**SLURM, **TORCHRUN}) == Rank(1, 2, " a 29500")


def of_rank(rank: int | None, *, launch: str = "a", started_s: int = 1000) -> Recording:
    made = recording()
    return replace(
        made,
        path=f"{launch}{rank}-{started_s}",
        header=replace(
            made.header,
            rank=rank,
            world_size=2,
            launch=launch,
            started_unix_ns=started_s * 10**9,
        ),
    )


def test_only_the_newest_launch_counts() -> None:
    newest = [of_rank(1), of_rank(None), of_rank(0, started_s=1003)]
    older = [of_rank(0, launch="b"), of_rank(1, started_s=100), of_rank(0, started_s=100)]
    found = same_launch([*newest, *older])
    assert {rank: one.path for rank, one in found.items()} == {1: "a1-1000", 0: "a0-1003"}
    assert same_launch([of_rank(None)]) == {}


def test_a_folder_without_ranks(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no recordings of several ranks"):
        newest_launch(tmp_path)


SCRIPT = """
import os, time, torch, torch.distributed as distributed
from torch.utils.data import DataLoader, Dataset

rank = int(os.environ["RANK"])

class Rows(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, index):
        time.sleep(0.02 if rank == 1 else 0.002)
        return torch.ones(4), torch.ones(1)

distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for x, y in DataLoader(Rows(), batch_size=2):
    optimizer.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    optimizer.step()
distributed.destroy_process_group()
"""


@pytest.mark.end_to_end
def test_two_processes_one_of_them_late(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    launch = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    words = [sys.executable, "-m", "fitdoctor"]
    ranks = [
        subprocess.Popen(
            [*words, "run", "train.py"],
            cwd=tmp_path,
            env={**os.environ, **launch, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=180)[1] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], said
    assert "rank 0 of 2: each process is recorded to its end" in said[0]
    assert "fitdoctor" not in said[1]
    report = subprocess.run(
        [*words, "report", "--ranks", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    found = json.loads(report.stdout)
    assert found["ranks"]["slowest"] == 1
    assert found["ranks"]["late_low_ns"] > 10**7, found["ranks"]
    (finding,) = found["report"]["workloads"][0]["findings"]
    assert finding["rule"] == "EN011"
    assert finding["gain"]["low"] > 1.5
    assert "its loader is slower" in finding["message"]
