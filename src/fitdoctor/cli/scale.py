"""`fitdoctor scale`: how many cores the input needs, and what to do when one host has too few."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fitdoctor.cli.output import write
from fitdoctor.errors import RecordingError

if TYPE_CHECKING:
    from fitdoctor.analysis.view import View
    from fitdoctor.prediction.scale_out import ScaleOut

SERVICE = """\
  on one machine      python -m fitdoctor.pack.service dispatcher --port 5050
  on each helper      python -m fitdoctor.pack.service worker --dispatcher HOST:5050 --host NAME
  in {place}, on the dataset that goes into fit, before prefetch:
      data = data.apply(tf.data.experimental.service.distribute(
          processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
          service="grpc://HOST:5050"))
  Every element comes once while all workers live, in another order. When one dies, training may
  stand still for long, and what it held is lost for that epoch (TensorFlow: at most
  once). A pipeline that begins with a generator cannot be sent to workers; `fitdoctor pack` can
  store it first.
"""


@click.command(
    "scale",
    context_settings={"allow_interspersed_args": False},
    short_help="How many cores the input needs to keep the step fed.",
)
@click.argument("what", required=False, metavar="[SCRIPT|REC]", type=click.Path(path_type=Path))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(*, what: Path | None, args: tuple[str, ...]) -> None:
    """Say how many cores the input of a training needs, from its measured costs.

    A SCRIPT is recorded first, with its own ARGS; a recording, or the newest one, is read as it
    is.
    """
    from fitdoctor.analysis.view import view_of
    from fitdoctor.prediction.scale_out import scale_out
    from fitdoctor.recorder.files import newest
    from fitdoctor.recording.reader import read_recording

    if what is not None and what.suffix == ".py":
        run = [sys.executable, "-m", "fitdoctor", "run", "-q", str(what), *args]
        subprocess.run(run, check=False)
        what = None
    path = what if what is not None else newest()
    if not path.is_file():
        raise RecordingError(f"there is no recording {path}", advice="fitdoctor scale train.py")
    recording = read_recording(path)
    views = [view_of(recording, workload) for workload in recording.workloads]
    found = [(view, scale_out(view)) for view in views if view is not None]
    measured = [(view, need) for view, need in found if need is not None]
    if not measured:
        raise RecordingError(
            f"{path} has no training whose step and loader were both measured",
            expected="a fit or loop that was examined",
            advice="fitdoctor scale train.py, without --no-probes",
        )
    for view, need in measured:
        write(sys.stdout, scale_text(view, need))


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
            "(fitdoctor report names the stage)"
        )
    elif need.fits:
        lines.append("  one host is enough: the findings of fitdoctor report say how to use it")
    elif view.input.get("kind") != "tf.data":
        lines.append(
            f"  {need.helpers} more hosts like this would be needed, and only tf.data can use "
            "them: pack the input once (fitdoctor pack) so that less is left to do"
        )
    else:
        count = need.helpers
        lines.append(f"  {count} more host{'' if count == 1 else 's'} like this would feed it:")
        lines.append(SERVICE.format(place=place).rstrip("\n"))
    return "\n".join(lines) + "\n"
