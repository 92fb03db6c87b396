"""`fitdoctor machine`: what this machine can do at best, and what disturbs measurements."""

from __future__ import annotations

import json
import sys

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import say, write


@click.command("machine", short_help="What this machine can do at best; what disturbs it.")
@click.option("--again", is_flag=True, help="Measure now, even if rates are known.")
@shared.json_only
def command(*, again: bool, as_json: bool) -> int:
    """Show the best rates of this machine, and what to change before measuring.

    Measures each installed backend in a few seconds, and keeps the rates for a week. Reports judge
    layers by them.
    """
    from fitdoctor.contract.codec import encode
    from fitdoctor.launch.machine_rates import installed_backends, machine_rates, newest
    from fitdoctor.launch.machine_state import machine_state
    from fitdoctor.report.machine_text import machine_text

    state = machine_state()
    kept = machine_rates(again=again, say=say)
    found = (newest(kept, backend) for backend in installed_backends())
    rates = [one for one in found if one is not None]
    if as_json:
        report = {
            "schema": 1,
            "machine": encode(state.machine),
            "rates": [encode(one) for one in rates],
            "disk": None if kept.disk is None else encode(kept.disk),
            **state.to_json(),
        }
        write(sys.stdout, json.dumps(report, indent=2) + "\n")
    else:
        write(
            sys.stdout,
            machine_text(state.machine, state.governors, rates, kept.disk, state.advice),
        )
    return 0
