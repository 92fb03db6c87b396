"""`fitdoctor mcp`, spoken to by the official client over a real pipe."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "tests" / "contract" / "recordings"
COMMAND = str(Path(sys.executable).with_name("fitdoctor"))
TRAIN = """
import sys
print("the script's own output", sys.argv[1:])
import keras, numpy as np
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile(loss="mse")
x = np.zeros((6400, 8), "float32")
model.fit(x, x[:, :1], epochs=3, verbose=0)
"""
Talk = Callable[[Any], Awaitable[None]]


def with_client(folder: Path, talk: Talk) -> None:
    async def main() -> None:
        environment = {**os.environ, "KERAS_BACKEND": "jax"}
        server = StdioServerParameters(
            command=COMMAND, args=["mcp"], cwd=str(folder), env=environment
        )
        with anyio.fail_after(90):
            async with Client(server) as client:
                await talk(client)

    anyio.run(main)


def said(answer: Any) -> str:
    return "\n".join(part.text for part in answer.content)


def test_a_client_sees_five_tools_and_what_they_may_do(tmp_path: Path) -> None:
    async def talk(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"run", "report", "rule", "fix", "prove"}
        assert all(tool.description for tool in tools.values())
        assert tools["report"].annotations.read_only_hint
        assert tools["fix"].annotations.destructive_hint
        assert "context" not in tools["run"].input_schema["properties"]
        assert tools["run"].input_schema["required"] == ["script"]

    with_client(tmp_path, talk)


def test_mistakes_come_back_as_errors_to_read(tmp_path: Path) -> None:
    async def talk(client: Any) -> None:
        answer = await client.call_tool("rule", {"code": "XX999"})
        assert answer.is_error and "there is no rule 'XX999'" in said(answer)
        answer = await client.call_tool("run", {"script": "nope.py"})
        assert answer.is_error and "there is no script nope.py" in said(answer)
        answer = await client.call_tool("rule", {"code": "--all"})
        assert answer.is_error
        answer = await client.call_tool("report", {"folder": "nowhere"})
        assert answer.is_error and "there is no folder nowhere" in said(answer)

    with_client(tmp_path, talk)


def test_a_recording_is_reported_and_its_cures_shown(tmp_path: Path) -> None:
    shutil.copy(RECORDINGS / "s01-schema-1.rec", tmp_path / "a.rec")

    async def talk(client: Any) -> None:
        answer = await client.call_tool("report", {"recording": "a.rec"})
        found = answer.structured_content
        assert found["report"]["workloads"][0]["findings"][0]["rule"] == "IN001"
        assert "IN001" in found["screen"]
        answer = await client.call_tool("fix", {"recording": "a.rec"})
        assert answer.structured_content["written"] is False
        assert answer.structured_content["declined"][0]["rule"] == "IN001"
        answer = await client.call_tool("rule", {"code": "in001"})
        assert "python-bound-loader (IN001)" in said(answer)

    with_client(tmp_path, talk)


@pytest.mark.end_to_end
def test_a_script_is_run_and_its_output_stays_out_of_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    told: list[str] = []

    async def talk(client: Any) -> None:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            told.append(message or "")

        given = {"script": "train.py", "arguments": ["--lr", "1"], "probes": False}
        answer = await client.call_tool("run", given, progress_callback=on_progress)
        assert not answer.is_error, said(answer)
        report = answer.structured_content["report"]
        assert report["script"] == {"path": "train.py", "argv": ["--lr", "1"]}
        assert report["workloads"][0]["steps"] > 0
        # The newest recording of the folder is the one just made.
        again = await client.call_tool("report", {})
        assert again.structured_content["report"]["recording"] == report["recording"]

    with_client(tmp_path, talk)
    assert told


@pytest.mark.end_to_end
def test_the_script_ends_with_the_request(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    pid = tmp_path / "pid"

    async def talk(client: Any) -> None:
        with anyio.move_on_after(60) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "run", {"script": "endless.py"})
                while not (pid.is_file() and pid.read_text()):
                    await anyio.sleep(0.1)
                tasks.cancel_scope.cancel()
        assert not scope.cancelled_caught

    with_client(tmp_path, talk)
    until = time.monotonic() + 20
    while psutil.pid_exists(int(pid.read_text())):
        assert time.monotonic() < until, "the script outlived its request"
        time.sleep(0.1)


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['fitdoctor', 'mcp']\n"
        "from fitdoctor.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "fitdoctor · error: fitdoctor mcp needs the package mcp, version 2 or newer: "
        "pip install 'fitdoctor[mcp]'\n"
    )
