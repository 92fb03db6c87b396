"""A command that takes a script: `fitdoctor run train.py --json out.json`.

Arguments after the script belong to the script, except for options of ours that it cannot
mean: those that neither it nor a file beside it ever names. `--` ends our options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

# Libraries that make options of names in the code: their scripts may mean any option.
MAKE_OPTIONS = (
    "absl",
    "docopt",
    "fire",
    "hydra",
    "jsonargparse",
    "simple_parsing",
    "typer",
    "tyro",
)
_MAKES_OPTIONS = re.compile(rf"^\s*(?:import|from)\s+(?:{'|'.join(MAKE_OPTIONS)})\b", re.MULTILINE)
# Files beside the script that are looked at for options, and how much of each.
MOST_FILES = 300
MOST_BYTES = 1_000_000


class ScriptCommand(click.Command):
    """Options before SCRIPT are ours; so are those after it that the script does not know."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring our options to the front, where click looks for them."""
        return super().parse_args(ctx, self._ours_first(list(args)))

    def _ours_first(self, args: list[str]) -> list[str]:
        at = self._script_at(args)
        if at is None or at + 1 >= len(args) or "-m" in args[:at]:
            return args
        ours, theirs = self._split(args[at + 1 :], _Known(Path(args[at])))
        return [*args[:at], *ours, args[at], *theirs]

    def _script_at(self, args: list[str]) -> int | None:
        index = 0
        while index < len(args):
            word = args[index]
            if word == "--":
                return None
            if not word.startswith("-") or word == "-":
                return index
            index += 2 if self._takes_next(word) else 1
        return None

    def _split(self, args: list[str], known: _Known) -> tuple[list[str], list[str]]:
        """Options of ours, each with its value, and the rest."""
        ours: list[str] = []
        theirs: list[str] = []
        index = 0
        while index < len(args):
            word = args[index]
            if word == "--":
                break
            if self._option(word) is None or known.names(word.partition("=")[0]):
                theirs.append(word)
                index += 1
                continue
            length = 2 if self._takes_next(word) else 1
            ours.extend(args[index : index + length])
            index += length
        return ours, [*theirs, *args[index:]]

    def _option(self, word: str) -> click.Option | None:
        name = word.partition("=")[0] if word.startswith("--") else word
        for parameter in self.params:
            if isinstance(parameter, click.Option) and name in parameter.opts:
                return parameter
        return None

    def _takes_next(self, word: str) -> bool:
        option = self._option(word)
        return option is not None and not option.is_flag and not option.count and "=" not in word


class _Known:
    """The options that a script, or a file beside it, names."""

    def __init__(self, script: Path) -> None:
        """Nothing is read yet."""
        self._script = script

    def names(self, option: str) -> bool:
        """Whether the script may mean this option; so too where that cannot be seen."""
        named = re.compile(rf"""["'\s]{re.escape(option)}["'\s=,/|]""")
        try:
            own = _text(self._script)
        except OSError:
            return False  # the command says what is wrong with its script
        if _MAKES_OPTIONS.search(own):
            return True
        return any(named.search(text) for text in (own, *self._beside()))

    def _beside(self) -> Iterator[str]:
        for path in islice(_python_files(self._script.resolve().parent), MOST_FILES):
            try:
                yield _text(path)
            except OSError:
                continue


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
    with path.open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")
