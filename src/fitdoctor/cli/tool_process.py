"""One command of fitdoctor in a process of its own, for a tool of `fitdoctor mcp`.

The server's stdout belongs to the protocol, so a command and the user's script never see it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver.exceptions import ToolError

Tell = Callable[[str], Awaitable[None]]
# How long a cancelled command may take to end its script.
GRACE_S = 10
# Lines of stderr that an error repeats.
SHOWN_LINES = 20


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def error(self) -> ToolError:
        """What it said last, for whoever called the tool."""
        lines = self.stderr.strip().splitlines()[-SHOWN_LINES:]
        return ToolError("\n".join(lines) or f"the command ended with exit code {self.code}")


async def command(words: list[str], folder: str, tell: Tell) -> Ended:
    """Run a command in a folder; each of its lines on stderr is told while it runs.

    Raises:
        ToolError: The folder does not exist.
    """
    if not Path(folder).is_dir():
        raise ToolError(f"there is no folder {folder}")
    # -P: a file beside the script must not stand in for a module that fitdoctor imports.
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "fitdoctor", *words], stdin=subprocess.DEVNULL, cwd=folder
    )
    try:
        out: list[str] = []
        err: list[str] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process.stdout, out, None)
            tasks.start_soon(_read, process.stderr, err, tell)
        code = await process.wait()
    finally:
        if process.returncode is None:
            await _end(process)
    return Ended(code, "".join(out), "".join(err))


async def result(words: list[str], folder: str, tell: Tell) -> dict[str, Any]:
    """What a command writes with `--json FILE`.

    Raises:
        ToolError: It wrote nothing; the error has its last lines.
    """
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as scratch:
        file = Path(scratch, "result.json")
        ended = await command([words[0], "--json", str(file), *words[1:]], folder, tell)
        if not file.is_file():
            raise ended.error()
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


async def text(words: list[str], folder: str, tell: Tell) -> str:
    """What a command prints.

    Raises:
        ToolError: It failed; the error has its last lines.
    """
    ended = await command(words, folder, tell)
    if ended.code:
        raise ended.error()
    return ended.stdout


async def _read(stream: Any, into: list[str], tell: Tell | None) -> None:
    from anyio.streams.text import TextReceiveStream

    async for piece in TextReceiveStream(stream, errors="replace"):
        into.append(piece)
        if tell is not None and piece.strip():
            await tell(piece.strip().splitlines()[-1])


async def _end(process: Any) -> None:
    """Ask first: fitdoctor passes the signal on to the script."""
    with anyio.CancelScope(shield=True):
        process.terminate()
        with anyio.move_on_after(GRACE_S):
            await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
