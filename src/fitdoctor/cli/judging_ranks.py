"""All ranks of one launch, and the report of the slowest of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitdoctor.cli.judging import Choice, Judged, judge_recording
from fitdoctor.contract.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from fitdoctor.contract.evidence.ranks import RankTimes


@dataclass(frozen=True)
class JudgedRanks:
    """All ranks, and the slowest one by itself."""

    times: RankTimes
    world: int | None
    path: Path
    judged: Judged

    def table(self) -> str:
        """For the screen."""
        from fitdoctor.report.ranks_text import ranks_text

        return ranks_text(self.times, self.world)

    def to_text(self) -> str:
        """For other programs."""
        import json

        from fitdoctor.contract.codec import encode
        from fitdoctor.report.machine import to_json

        report = {
            "schema": 1,
            "world_size": self.world,
            "ranks": encode(self.times),
            "report": to_json(self.judged.diagnosis),
        }
        return json.dumps(report, indent=2) + "\n"


def judge_ranks(folder: Path | None, choice: Choice) -> JudgedRanks:
    """Compare the ranks of the newest launch, and diagnose the slowest.

    Raises:
        RecordingError: There are no ranks, or they have too few steps in common.
    """
    from fitdoctor.analysis.ranks import FEWEST_STEPS, main_workload, rank_times, with_ranks
    from fitdoctor.cli.config import recordings_folder
    from fitdoctor.launch.ranks import newest_launch

    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder} is no folder", expected="the folder of the ranks' recordings")
    found = newest_launch(folder or recordings_folder())
    trained = {
        rank: workload
        for rank, one in found.items()
        if (workload := main_workload(one)) is not None
    }
    times = rank_times(trained)
    if times is None:
        raise RecordingError(
            "the ranks have too few steps in common to be compared",
            expected=f"{FEWEST_STEPS} steps after the first few, on two ranks or more",
            advice="let the training run longer",
        )
    slowest = found[times.slowest]
    told = with_ranks(slowest, trained[times.slowest], times)
    judged = judge_recording(told, choice)
    return JudgedRanks(times, slowest.header.world_size, Path(slowest.path), judged)
