"""`fitdoctor mcp`: the commands as tools of an assistant."""

from __future__ import annotations

import click

from fitdoctor.contract.errors import UsageError


@click.command("mcp", short_help="Serve run, report, rule, fix and prove to an assistant.")
def command() -> None:
    """Serve run, report, rule, fix and prove over stdin and stdout, by the Model Context Protocol.

    An assistant starts this command; see the page "Assistants" of the documentation.
    """
    try:
        from fitdoctor.cli.tools import server
    except ImportError as error:
        raise UsageError(
            "fitdoctor mcp needs the package mcp, version 2 or newer: pip install 'fitdoctor[mcp]'"
        ) from error
    server().run("stdio")
