"""Which process of several this one is, by the variables of torchrun, Slurm and MPI."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Recording
from fitdoctor.launch.recording_files import FOLDER_NAME, recordings

# Number, count, and what tells one launch from another.
SOURCES = (
    ("RANK", "WORLD_SIZE", ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("PMIX_NAMESPACE",)),
    ("SLURM_PROCID", "SLURM_NTASKS", ("SLURM_JOB_ID", "SLURM_STEP_ID")),
)
# Ranks of one launch start within this time; a job that starts again later is another one.
TOGETHER_S = 120


@dataclass(frozen=True)
class Rank:
    """One process of a launch."""

    number: int
    world: int
    launch: str

    def header(self) -> dict[str, int | str]:
        """As the recording's header has it."""
        return {"rank": self.number, "world_size": self.world, "launch": self.launch}


def own_rank(variables: Mapping[str, str] = os.environ) -> Rank | None:
    """This process among several; None where it is the only one."""
    for number, world, names in SOURCES:
        values = variables.get(number, ""), variables.get(world, "")
        if all(one.isdigit() for one in values) and int(values[1]) > 1:
            launch = " ".join(variables.get(name, "") for name in names)
            return Rank(int(values[0]), int(values[1]), launch)
    return None


def newest_launch(folder: Path | None = None) -> dict[int, Recording]:
    """The recordings of the newest launch in a folder, by rank.

    Raises:
        RecordingError: There is none with two ranks or more.
    """
    folder = folder or Path.cwd() / FOLDER_NAME
    ranks = same_launch(_readable(recordings(folder)))
    if len(ranks) < 2:
        raise RecordingError(
            f"there are no recordings of several ranks in {folder}",
            expected="a launch in which each process ran under fitdoctor",
            advice="torchrun --nproc-per-node 2 -m fitdoctor run train.py",
        )
    return ranks


def same_launch(found: Iterable[Recording]) -> dict[int, Recording]:
    """The newest launch among recordings, the newest recording first."""
    ranks: dict[int, Recording] = {}
    first: Recording | None = None
    for one in found:
        header = one.header
        if header.rank is None or header.started_unix_ns is None:
            continue
        first = first or one
        begun = first.header
        apart = abs(header.started_unix_ns - (begun.started_unix_ns or 0))
        is_same = (header.launch, header.world_size) == (begun.launch, begun.world_size)
        if is_same and apart <= TOGETHER_S * NS_PER_S:
            ranks.setdefault(header.rank, one)
    return ranks


def _readable(paths: Iterable[Path]) -> Iterable[Recording]:
    for path in paths:
        try:
            yield read_recording(path)
        except RecordingError:  # of another version, or damaged
            continue
