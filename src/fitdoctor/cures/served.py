"""A tf.data pipeline moved onto a tf.data service: the edit of the user's source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.cures.patch import Patch, plan
from fitdoctor.findings.edits import TENSORFLOW, AppendCall
from fitdoctor.findings.finding import Cure, Finding, Where
from fitdoctor.intervals import Interval

# Stages that belong on the machine that trains.
LOCAL = frozenset({"prefetch", "with_options"})
# From a generator, there is nothing that could be sent to another process.
NOT_SENT = frozenset({"from_generator"})


def served_patch(stages: Sequence[StageCost], address: str, roots: Sequence[Path]) -> Patch | None:
    """The patch that lets a service at this address run the pipeline; None where nothing can be.

    Args:
        stages: of the pipeline, the last one first.
        address: of the dispatcher, with its protocol.
        roots: folders of the project: nothing outside is changed.
    """
    if any(stage.op in NOT_SENT or stage.python for stage in stages):
        return None
    last = next((stage for stage in stages if stage.op not in LOCAL), None)
    if last is None or not last.file or not last.line:
        return None
    where = Where(last.file, last.line)
    service = "tf.data.experimental.service"
    text = (
        f".apply({service}.distribute(processing_mode={service}.ShardingPolicy.DYNAMIC, "
        f'service="{address}"))'
    )
    if last.op == "batch" and last.batch_size:
        # Each worker ends an epoch with a batch of what it has left: batches of the old size again.
        text += f".rebatch({last.batch_size})"
    cure = Cure(
        "unsafe",
        "every element once, in another order, made by the workers of the service",
        (AppendCall(where, last.op, text, (TENSORFLOW,)),),
    )
    finding = Finding(
        rule="scale",
        name="tf.data-service",
        where=where,
        message="one host cannot keep the step fed",
        gain=Interval.exact(1.0),
        cure=cure,
    )
    return plan([finding], unsafe=True, roots=list(roots))
