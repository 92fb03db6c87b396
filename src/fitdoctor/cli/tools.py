"""The tools of `fitdoctor mcp`: each is one command, with its words and its JSON."""

from __future__ import annotations

import json
import time
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

from fitdoctor import __version__
from fitdoctor.cli.tool_process import Tell, result, text

INSTRUCTIONS = """\
fitdoctor finds out why Keras training is slow, says what each cure would gain, and proves it.
Order: run, then rule for what a code means, then fix to see the diff, then prove. Apply a fix only
when the user has seen its diff. Gains are intervals; repeat them as they are, with how they are
known (tried, modelled, bound).
"""
LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# The user's own script runs, and may do anything.
RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


def server() -> MCPServer:
    """A server with the five tools."""
    made = MCPServer(
        "fitdoctor", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    made.add_tool(run, annotations=RUNS)
    made.add_tool(report, annotations=LOOKS)
    made.add_tool(rule, annotations=LOOKS)
    made.add_tool(fix, annotations=WRITES)
    made.add_tool(prove, annotations=RUNS)
    return made


async def run(
    context: Context,
    script: str,
    arguments: list[str] | None = None,
    budget_s: float = 60,
    probes: bool = True,
    folder: str = ".",
) -> dict[str, Any]:
    """Run a training script and say why its training is slow.

    The script is ended after about `budget_s` seconds of training. Without `probes` its steps are
    only recorded: quicker, but most causes and gains stay unknown. `folder` is where it is
    started. The answer has `screen` (to read) and `report` (the JSON report; `recording` in it
    is what the other tools take).
    """
    words = ["run", "--budget", str(budget_s), *([] if probes else ["--no-probes"])]
    words += ["--", script, *(arguments or [])]
    found = await result(words, folder, _teller(context))
    screen = await text(["report", found["recording"]], folder, _silent)
    return {"screen": screen, "report": found}


async def report(recording: str = "", folder: str = ".") -> dict[str, Any]:
    """Look at a recording again; without a name, at the newest one of the folder."""
    words = ["report", *([recording] if recording else [])]
    screen = await text(words, folder, _silent)
    found = await text([*words, "--json"], folder, _silent)
    return {"screen": screen, "report": json.loads(found)}


async def rule(code: str) -> str:
    """What a finding means, its evidence, its cure and when not to make it: IN002, HO004, ..."""
    return await text(["rule", "--", code], ".", _silent)


async def fix(
    context: Context,
    recording: str = "",
    select: list[str] | None = None,
    unsafe: bool = False,
    apply: bool = False,
    folder: str = ".",
) -> dict[str, Any]:
    """The cures of a recording as a diff of the user's source, and why others are left out.

    Nothing is written without `apply`; `fitdoctor fix --undo` puts the files back. `select`
    takes only these rules. `unsafe` adds cures that may change numbers or order.
    """
    words = ["fix", "-q", *(["--from", recording] if recording else [])]
    words += ["--select", ",".join(select)] if select else []
    words += ["--unsafe"] if unsafe else []
    words += ["--apply"] if apply else []
    return await result(words, folder, _teller(context))


async def prove(
    context: Context,
    script: str,
    arguments: list[str] | None = None,
    budget_s: float = 180,
    folder: str = ".",
) -> dict[str, Any]:
    """Prove that a script trains faster with its cures, and that it learns the same.

    Examines the script, then runs it with and without the cures in turn for about `budget_s`
    seconds. The source is not touched. With a second script as the first of `arguments`, the two
    scripts are compared.
    """
    words = ["prove", "--budget", str(budget_s), "--", script, *(arguments or [])]
    return await result(words, folder, _teller(context))


def _teller(context: Context) -> Tell:
    """Progress for the client: it counts seconds, since nobody knows how many lines will come."""
    began = time.monotonic()

    async def tell(line: str) -> None:
        await context.report_progress(time.monotonic() - began, message=line)

    return tell


async def _silent(line: str) -> None:
    """For commands that are over in a second."""
