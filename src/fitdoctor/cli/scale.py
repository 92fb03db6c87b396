"""`fitdoctor scale`: how many cores the input needs, and what to do when one host has too few."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli.judging import recording_path
from fitdoctor.cli.output import write
from fitdoctor.cli.script_command import ScriptCommand, script_args
from fitdoctor.contract.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fitdoctor.analysis.view import View
    from fitdoctor.contract.records import Recording
    from fitdoctor.cures.patch import Patch
    from fitdoctor.pricing.scale_out import ScaleOut

SERVICE_ADDRESS = re.compile(r"[a-z]+://[\w.\-\[\]:]+:\d+")

SERVICE = """\
  on one machine      python -m fitdoctor.pack.service dispatcher --port 5050
  on each helper      python -m fitdoctor.pack.service worker --dispatcher HOST:5050 --host NAME \\
                        --port 5051
  in {place}, on the dataset that goes into fit, before prefetch:
      data = data.apply(tf.data.experimental.service.distribute(
          processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
          service="grpc://HOST:5050")).rebatch(BATCH)
      (`fitdoctor scale --service grpc://HOST:5050` shows this edit in your source)
  Every element comes once while all workers live, in another order. When one dies, training
  stops until it is started again on its port, and what it held is lost for that epoch
  (TensorFlow: at most once). A pipeline that begins with a generator cannot be sent to workers;
  `fitdoctor pack` can store it first.
"""


@click.command(
    "scale", cls=ScriptCommand, short_help="How many cores the input needs to keep the step fed."
)
@click.option(
    "--service",
    metavar="ADDRESS",
    help="Show the edit that moves the tf.data pipeline onto a service: grpc://HOST:5050.",
)
@click.option("--apply", is_flag=True, help="Write that edit; `fitdoctor fix --undo` reverts it.")
@click.argument("what", required=False, metavar="[SCRIPT|REC]", type=click.Path(path_type=Path))
@script_args
def command(*, what: Path | None, args: tuple[str, ...], service: str | None, apply: bool) -> None:
    """Show how many cores the input of a training needs, from its measured costs.

    A SCRIPT is recorded first, with its own ARGS. A recording, or the newest one, is read as it is.
    --service prints the source edit for a tf.data service at that address.
    """
    from fitdoctor.analysis.build_view import view_of
    from fitdoctor.contract.reader import read_recording
    from fitdoctor.pricing.scale_out import scale_out

    _check_service(service, apply=apply)
    if what is not None and what.suffix == ".py":
        run = [sys.executable, "-m", "fitdoctor", "run", "-q", str(what), *args]
        subprocess.run(run, check=False)
        what = None
    path = recording_path(what)
    recording = read_recording(path)
    measured = [
        (view, need)
        for workload in recording.workloads
        if (view := view_of(recording, workload)) and (need := scale_out(view))
    ]
    if not measured:
        raise RecordingError(
            f"{path} has no training whose step and loader were both measured",
            expected="a fit or loop that was examined",
            advice="fitdoctor scale train.py, without --no-probes",
        )
    for view, need in measured:
        write(sys.stdout, scale_text(view, need))
    if service is not None:
        _edit(recording, [view for view, _ in measured], service, apply=apply)


def _check_service(service: str | None, *, apply: bool) -> None:
    if apply and service is None:
        raise UsageError(
            "--apply writes the edit for a service, and none was given",
            expected="--service grpc://HOST:5050",
        )
    if service is not None and not SERVICE_ADDRESS.fullmatch(service):
        raise UsageError(
            f"--service {service!r}", expected="protocol://host:port, as grpc://localhost:5050"
        )


def _edit(recording: Recording, views: Sequence[View], service: str, *, apply: bool) -> None:
    """Print, or write, the pipeline on the service."""
    from fitdoctor.cures.prescription import project_roots
    from fitdoctor.cures.served import served_patch
    from fitdoctor.cures.writing import write_patch

    roots = project_roots(recording)
    patches = (served_patch(view.stages, service, roots) for view in views)
    patch = next((one for one in patches if one is not None), None)
    if patch is None:
        raise UsageError(
            "no pipeline here can be sent to workers",
            expected="a tf.data pipeline of this script, without Python code in it",
            advice="fitdoctor pack stores the elements of any source first",
        )
    if not patch:
        reasons = "; ".join(one.reason for one in patch.declined)
        raise UsageError(f"the edit cannot be made: {reasons}", advice="make it by hand, as above")
    _refuse_changed(recording, patch, roots)
    write(sys.stdout, patch.diff())
    if apply:
        write_patch(patch, Path.cwd())


def _refuse_changed(recording: Recording, patch: Patch, roots: Sequence[Path]) -> None:
    """The recorded lines are those of the file that was recorded."""
    from fitdoctor.cures.source_text import digest

    known = {(roots[0] / file).resolve(): found for file, found in recording.sources.items()}
    for path in patch.files:
        if known.get(path.resolve()) != digest(path.read_bytes()):
            raise UsageError(
                f"{path} is not the file that was recorded, so its lines may have moved",
                advice=f"fitdoctor scale {path.name}",
            )


def scale_text(view: View, need: ScaleOut) -> str:
    """What to say about one workload."""
    from fitdoctor.units import duration

    cores = need.cores_needed
    place = f"{os.path.basename(view.recorded.file or 'the script')}:{view.recorded.line}"
    lines = [
        f"{view.recorded.kind} ({place})",
        f"  one batch takes {duration(need.batch_work_ns.value)} of CPU, a step on data in memory "
        f"{duration(need.step_ns.value)}",
        f"  the input needs {cores.value:.1f} cores ({cores.low:.1f}–{cores.high:.1f}); this host "
        f"has {need.cores_free:.1f} of {view.cpus} beside the step",
    ]
    if need.is_waiting:
        lines.append(
            "  loading waits for disk or network, not for cores: read more at once "
            "(fitdoctor report names the stage), or in workers of a tf.data service, which wait "
            "beside each other"
        )
    elif need.fits:
        lines.append("  one host is enough: the findings of fitdoctor report say how to use it")
    elif view.input.kind != "tf.data":
        lines.append(
            f"  {need.helpers} more hosts like this would be needed, and only tf.data can use "
            "them: pack the input once (fitdoctor pack) so that less is left to do"
        )
    else:
        count = f"{need.helpers} more host{'' if need.helpers == 1 else 's'}"
        lines += [
            "  the cores of this host are the limit: worker processes on it would share the same "
            f"{view.cpus}",
            f"  {count} like this would feed it:",
            SERVICE.format(place=place).rstrip("\n"),
        ]
    return "\n".join(lines) + "\n"
