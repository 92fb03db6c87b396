"""`fitdoctor attach`: where the host time of a training goes that runs already."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import check_writable, say, write, write_json


@click.command("attach", short_help="Where the host time of a running training goes.")
@click.argument("pid", type=click.IntRange(min=1))
@shared.number(
    "--seconds", default=10, most=600, metavar="SECONDS", help="How long to watch the process."
)
@shared.file_option("--json", "json_output", text=shared.JSON_TEXT)
@shared.force
def command(*, pid: int, seconds: float, json_output: Path | None, force: bool) -> None:
    """Watch the process PID from outside for some seconds, and show where its host time goes.

    Nothing is loaded into the process; py-spy reads its stacks (`pip install 'fitdoctor[attach]'`).
    """
    from fitdoctor.attach.attached import look_at
    from fitdoctor.report.attached_text import attached_text

    if json_output is not None:
        check_writable(json_output, force=force)
    attached = look_at(pid, seconds)
    if json_output is not None:
        write_json(json_output, attached.to_json())
        say(f"wrote {json_output}")
    write(sys.stdout, attached_text(attached))
