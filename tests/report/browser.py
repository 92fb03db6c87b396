"""A page in a headless browser, through its debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
START_S = 30.0


@dataclass
class Seen:
    """What a page did when it was opened."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)


def look_at(
    page: Path,
    folder: Path,
    *,
    width: int,
    height: int = 1200,
    questions: dict[str, str] | None = None,
    screenshot: Path | None = None,
    dark: bool = False,
) -> Seen:
    """Open a page and ask it: a question is a JavaScript expression."""
    from websocket import create_connection

    assert CHROMIUM is not None
    profile = folder / "profile"
    process = subprocess.Popen(
        [
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-quic", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--remote-debugging-port=0", "--remote-allow-origins=*",
            f"--user-data-dir={profile}", "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port, path = _address(profile / "DevToolsActivePort", process)
        socket = create_connection(f"ws://127.0.0.1:{port}{path}", timeout=START_S)
        return _Talk(socket).look(page, width, height, questions or {}, screenshot, dark)
    finally:
        process.terminate()
        process.wait(10)


def _address(file: Path, process: subprocess.Popen[bytes]) -> tuple[str, str]:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) == 2:
            return lines[0], lines[1]
        time.sleep(0.05)
    raise RuntimeError("the browser did not start")


class _Talk:
    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0
        self._session = ""
        self._loaded = False
        self.seen = Seen()

    def look(
        self,
        page: Path,
        width: int,
        height: int,
        questions: dict[str, str],
        screenshot: Path | None,
        dark: bool,
    ) -> Seen:
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self._ask("Page.navigate", url=page.resolve().as_uri())
        while not self._loaded:
            self._take(json.loads(self._socket.recv()))
        for name, expression in questions.items():
            answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
            self.seen.answers[name] = answer["result"].get("value")
        if screenshot is not None:
            shot = self._ask("Page.captureScreenshot", captureBeyondViewport=True)
            screenshot.write_bytes(base64.b64decode(shot["data"]))
        return self.seen

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._take(answer)

    def _take(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.seen.errors.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.seen.errors.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.seen.errors.append(parameters["entry"]["text"][:500])
        elif method == "Network.requestWillBeSent":
            self.seen.requests.append(parameters["request"]["url"])
