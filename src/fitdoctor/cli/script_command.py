"""A command that takes a script: `fitdoctor run train.py --json out.json`.

Arguments after the script belong to the script, except for options of ours that it cannot
mean: those that neither it nor a file beside it ever names. `--` ends our options.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from fitdoctor.contract.records import Script

# Libraries that make options of names in the code: their scripts may mean any option.
_LIBRARIES = "absl|docopt|fire|hydra|jsonargparse|simple_parsing|typer|tyro"
_MAKES_OPTIONS = re.compile(rf"^\s*(?:import|from)\s+(?:{_LIBRARIES})\b", re.MULTILINE)
# Files beside the script that are looked at for options, and how much of each.
MOST_FILES = 300
MOST_BYTES = 1_000_000


class ScriptCommand(click.Command):
    """Options before SCRIPT are ours; so are those after it that the script does not know."""

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring our options to the front, where click looks for them."""
        at = self._script_at(args)
        if at is not None and "-m" not in args[:at]:
            ours, theirs = self._split(args[at + 1 :], Path(args[at]))
            args = [*args[:at], *ours, args[at], *theirs]
        return super().parse_args(ctx, args)

    def _script_at(self, args: list[str]) -> int | None:
        words = enumerate(args)
        for index, word in words:
            if word == "--":
                return None
            if not word.startswith("-") or word == "-":
                return index
            if self._takes_next(word):
                next(words, None)
        return None

    def _split(self, args: list[str], script: Path) -> tuple[list[str], list[str]]:
        """Options of ours, each with its value, and the rest."""
        ours: list[str] = []
        theirs: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                theirs += [word, *words]
            elif self._option(word) is None or _may_mean(script, word.partition("=")[0]):
                theirs.append(word)
            else:
                ours += [word, *islice(words, self._takes_next(word))]
        return ours, theirs

    def _option(self, word: str) -> click.Option | None:
        name = word.partition("=")[0] if word.startswith("--") else word
        options = (one for one in self.params if isinstance(one, click.Option))
        return next((option for option in options if name in option.opts), None)

    def _takes_next(self, word: str) -> bool:
        option = self._option(word)
        return option is not None and not option.is_flag and not option.count and "=" not in word


def script_command(
    name: str, short_help: str, *, required: bool = True
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command on SCRIPT and its ARGS, which its function gets as one `Script`."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def command(*, script: str | None, args: tuple[str, ...], module: bool, **more: Any) -> Any:
            return function(
                script=Script(script, args, module) if script is not None else None, **more
            )

        command = script_args(command)
        command = click.argument("script", required=required, shell_complete=_file_names)(command)
        command = click.option(
            "-m", "module", is_flag=True, help="SCRIPT is a module, as for python -m."
        )(command)
        return click.command(name, cls=ScriptCommand, short_help=short_help)(command)

    return decorate


def _file_names(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """Leave it to the shell, which completes names of files."""
    return [CompletionItem(start, type="file")]


script_args = click.argument("args", nargs=-1, type=click.UNPROCESSED, shell_complete=_file_names)


def _may_mean(script: Path, option: str) -> bool:
    """Whether a script, or a file beside it, names this option; so too where nobody can see."""
    named = re.compile(rf"""["'\s]{re.escape(option)}["'\s=,/|]""")
    own = _text(script)
    if _MAKES_OPTIONS.search(own) or named.search(own):
        return True
    beside = islice(_python_files(script.resolve().parent), MOST_FILES)
    return any(named.search(_text(path)) for path in beside)


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        # Environments and caches are no part of the script.
        folders[:] = [
            one
            for one in sorted(folders)
            if not one.startswith((".", "__"))
            and one not in ("site-packages", "node_modules")
            and not os.path.exists(os.path.join(root, one, "pyvenv.cfg"))
        ]
        yield from (Path(root, name) for name in sorted(files) if name.endswith(".py"))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:  # the command says what is wrong with its script
        return ""
