"""The command line: thin, lazy, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import NoReturn

import click

from fitdoctor import __version__
from fitdoctor.cli.output import say
from fitdoctor.contract.errors import FitdoctorError, UsageError
from fitdoctor.report.text import clean

# In the order of `fitdoctor --help`; each is a module of this package with a `command`.
COMMANDS = (
    "run",
    "cure",
    "fix",
    "prove",
    "boost",
    "devices",
    "attach",
    "machine",
    "report",
    "compare",
    "lint",
    "pack",
    "scale",
    "rule",
    "mcp",
)
INTERRUPTED = 130
WRONG_USE = 2


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"fitdoctor.cli.{cmd_name}").command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fitdoctor")
@click.pass_context
def cli(context: click.Context) -> None:
    """Finds out why Keras training is slow and what each cure would gain.

    Put `fitdoctor run` before the script and its own arguments, without changing it:

        fitdoctor run train.py --epochs 1
    """
    from fitdoctor.cli.config import default_map

    context.default_map = default_map()


def main() -> NoReturn:
    """Run a command and end the process with its exit code."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        result = cli.main(prog_name="fitdoctor", standalone_mode=False)
        # The pipe's reader may have left: that shows here, inside the boundary, or never.
        sys.stdout.flush()
    except FitdoctorError as error:
        return show_error(error)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG_USE
    except click.ClickException as error:
        return show_error(_as_usage_error(error))
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # `fitdoctor rule --all | head -1`: what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the boundary: everything else is our bug
        return show_error(error)
    return result if isinstance(result, int) else 0


def show_error(error: Exception) -> int:
    """Write an error to stderr and return the exit code it stands for."""
    if not isinstance(error, FitdoctorError):
        say("".join(traceback.format_exception(error)).rstrip(), prefix="")
        say("error: this is a bug in fitdoctor; please report it with the lines above")
        return WRONG_USE
    say(f"error: {clean(error.message)}")
    for word, text in (("expected:", error.expected), ("try:", error.advice)):
        if text:
            say(f"  {word:<9} {clean(text)}", prefix="")
    return error.exit_code


def _as_usage_error(error: click.ClickException) -> UsageError:
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "fitdoctor"
    return UsageError(message, advice=f"{path} --help")
