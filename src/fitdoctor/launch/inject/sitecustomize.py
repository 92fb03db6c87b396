"""Starts the recorder inside the user's process, then disappears.

The launcher puts this folder first on PYTHONPATH, so that `site` imports this file
before the script. Whatever happens here, the script must see what plain `python` shows:
the same sys.path, the same environment, and the user's own sitecustomize.
"""

from __future__ import annotations

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(FOLDER)))


def _restore_environment() -> dict[str, str]:
    """Take our variables out, so that processes the script starts run without us."""
    names = ("FITDOCTOR_PYTHONPATH", "FITDOCTOR_RECORDING", "FITDOCTOR_OPTIONS", "FITDOCTOR_PARENT")
    ours = {name: os.environ.pop(name) for name in names if name in os.environ}
    if "FITDOCTOR_PYTHONPATH" in ours:
        os.environ["PYTHONPATH"] = ours["FITDOCTOR_PYTHONPATH"]
    else:
        os.environ.pop("PYTHONPATH", None)
    return ours


def _restore_path() -> None:
    sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
    sys.path_importer_cache.pop(FOLDER, None)


def _is_launched_process(ours: dict[str, str]) -> bool:
    # A .pth file may start processes before `site` comes to us: they inherit our
    # variables but are not the script.
    return ours.get("FITDOCTOR_PARENT") == str(os.getppid()) and "FITDOCTOR_RECORDING" in ours


def _start(ours: dict[str, str]) -> None:
    try:
        from fitdoctor.contract.options import RunOptions
        from fitdoctor.inside import wiring
    except ModuleNotFoundError as error:
        if error.name != "fitdoctor":
            raise
        # fitdoctor runs from a folder that this interpreter does not know. Last place on
        # the path, so that nothing beside the package can hide a module of the library.
        sys.path.append(PACKAGE_FOLDER)
        try:
            from fitdoctor.contract.options import RunOptions
            from fitdoctor.inside import wiring
        finally:
            sys.path.remove(PACKAGE_FOLDER)
            sys.path_importer_cache.pop(PACKAGE_FOLDER, None)
    wiring.start(
        recording=ours["FITDOCTOR_RECORDING"],
        options=RunOptions.from_text(ours.get("FITDOCTOR_OPTIONS", "{}")),
    )


def _start_or_say_why(ours: dict[str, str]) -> None:
    try:
        _start(ours)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not stop the script
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        if sys.stderr is not None:
            sys.stderr.write(
                f"fitdoctor · the recorder did not start ({reason}); the script runs unrecorded\n"
            )


_variables = _restore_environment()
_restore_path()
if _is_launched_process(_variables):
    _start_or_say_why(_variables)

# Python looks again, now without our folder. A missing sitecustomize or an error in the
# user's own leaves this module as the same exception plain `python` would meet, so that
# `site` treats it in the same way.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
