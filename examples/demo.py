"""`make demo`: fitdoctor on a slow script, from the verdict to the proof, by its own commands."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = Path(__file__).with_name("slow_pipeline.py")
PAGE = "demo.html"
NOTHING_TO_CHANGE = 0


def main() -> int:
    """Run each command as anybody would type it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fitdoctor-demo-") as scratch:
        folder = Path(scratch)
        shutil.copy(SCRIPT, folder)
        name = SCRIPT.name
        say(f"{name} trains a small network on photos. Why is it slow?")
        if fitdoctor(folder, f"run --budget 12 --no-trials {name}"):
            return 1
        say("The cure, as a change of the script:")
        if fitdoctor(folder, "fix --diff") == NOTHING_TO_CHANGE:
            return 1
        (recording,) = folder.glob(".fitdoctor/*.rec")
        say("The proof: the script as it is and with its cure, in turn, in fresh processes:")
        shown = recording.relative_to(folder)
        if fitdoctor(folder, f"prove --budget 15 --window 2 --from {shown} {name}"):
            return 1
        say("The page, with plots and the proof:")
        if fitdoctor(folder, f"report -o {PAGE}"):
            return 1
        shutil.copy(folder / PAGE, PAGE)
    say(f"Done in {time.monotonic() - began:.0f} s. Open {PAGE} in a browser.")
    print("On a script of yours, one command does all of this: fitdoctor cure train.py")
    return 0


def say(text: str) -> None:
    """A heading between the parts."""
    print(f"\n── {text}\n", flush=True)


def fitdoctor(folder: Path, words: str) -> int:
    """Show a command, run it, and return its exit code."""
    print(f"$ fitdoctor {words}", flush=True)
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "fitdoctor", *shlex.split(words)]
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
