"""`fitdoctor devices`: CPU or GPU, from which batch size, after how many steps."""

from __future__ import annotations

import sys
from pathlib import Path

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import check_writable, say, write, write_json
from fitdoctor.cli.script_command import script_command
from fitdoctor.cli.target import check_target
from fitdoctor.contract.records import Script


@script_command("devices", "CPU or GPU: from which batch size, after how many steps.")
@shared.file_option("-o", "--json", "output", text=shared.JSON_TEXT)
@shared.force
@shared.budget(
    "Training time per device: up to half of it is recorded, then the batch sizes are swept.",
    default=12,
)
def command(*, script: Script, output: Path | None, force: bool, budget: float) -> int:
    """Run SCRIPT's own fit on each device and say which one to use.

    The script starts again for each device and is ended after a few seconds of training.
    """
    from fitdoctor.devices.runs import compare_devices
    from fitdoctor.report.device_comparison import devices_text

    check_target(script)
    if output is not None:
        check_writable(output, force=force)
    judgement = compare_devices(script, budget_s=budget, say=say)
    if output is not None:
        write_json(output, judgement.to_json())
    write(sys.stdout, devices_text(judgement))
    return 0 if judgement.runs else 2
