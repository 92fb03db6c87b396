"""`fitdoctor devices`: CPU or GPU, from which batch size, after how many steps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import check_writable, say, write, write_text
from fitdoctor.cli.script_command import ScriptCommand


@click.command(
    "devices",
    cls=ScriptCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="CPU or GPU: from which batch size, after how many steps.",
)
@shared.module
@shared.file_option("-o", "--json", "output", text=shared.JSON_TEXT)
@shared.force
@shared.budget(
    "Training time per device: up to half of it is recorded, then the batch sizes are swept.",
    default=12,
)
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    script: str,
    args: tuple[str, ...],
    module: bool,
    output: Path | None,
    force: bool,
    budget: float,
) -> int:
    """Run SCRIPT's own fit on each device and say which one to use.

    The script is started afresh for each device and ended after a few seconds of training.
    """
    from fitdoctor.cli.target import check_module, check_script
    from fitdoctor.devices.runs import compare_devices
    from fitdoctor.launch.launcher import command_line
    from fitdoctor.report.device_comparison import devices_text

    (check_module if module else check_script)(script)
    if output is not None:
        check_writable(output, force=force)
    judgement = compare_devices(
        command_line(script, list(args), module=module), script, budget_s=budget, say=say
    )
    if output is not None:
        text = json.dumps(judgement.to_json(), indent=2, default=str) + "\n"
        write_text(output, text)
    write(sys.stdout, devices_text(judgement))
    return 0 if judgement.runs else 2
