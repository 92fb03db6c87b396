"""Options that several commands share; each also has a variable and a key in pyproject.toml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from fitdoctor.cli.completion import rule_codes
from fitdoctor.cli.output import COLORS

_Command = TypeVar("_Command", bound=Callable[..., Any])
_CODE = "[A-Z]{2}[0-9]{3}"


def _codes(context: click.Context, option: click.Parameter, value: Any) -> tuple[str, ...]:
    """Codes or families, in several options or separated by commas."""
    texts = [value] if isinstance(value, str) else list(value or ())
    codes = [code.strip() for text in texts for code in str(text).split(",")]
    return tuple(code.upper() for code in codes if code)


module = click.option("-m", "module", is_flag=True, help="SCRIPT is a module, as for python -m.")
force = click.option("--force", is_flag=True, help="Overwrite an output file that exists.")
json_output = click.option(
    "--json",
    "json_output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the result as JSON.",
)
select = click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    envvar="FITDOCTOR_SELECT",
    callback=_codes,
    shell_complete=rule_codes,
    help="Only these rules or families, as in IN,CB001.",
)
ignore = click.option(
    "--ignore",
    multiple=True,
    metavar="CODES",
    envvar="FITDOCTOR_IGNORE",
    callback=_codes,
    shell_complete=rule_codes,
    help="Not these rules or families.",
)
no_source = click.option(
    "--no-source",
    is_flag=True,
    envvar="FITDOCTOR_NO_SOURCE",
    help="Leave file names, paths, arguments and source text out, for sharing.",
)
color = click.option(
    "--color",
    type=click.Choice(COLORS),
    default="auto",
    show_default=True,
    envvar="FITDOCTOR_COLOR",
)
output_dir = click.option(
    "--output-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    envvar="FITDOCTOR_OUTPUT_DIR",
    help="Folder of the recordings instead of .fitdoctor.",
)


def _pack_folder(context: click.Context, option: click.Parameter, value: Any) -> str | None:
    """A folder that can hold packs, and what writing them needs."""
    if value is None:
        return None
    from fitdoctor.contract.errors import UsageError
    from fitdoctor.pack.checksum import functions

    if not str(value) or Path(value).is_file():
        raise UsageError(f"--pack {str(value)!r}", expected="a folder, new or of earlier packs")
    functions()  # the training script will write with it
    return str(value)


pack = click.option(
    "--pack",
    metavar="DEST",
    callback=_pack_folder,
    help="Also make cures that store data: the script's next run writes it to this folder.",
)


def rule_options(command: _Command) -> _Command:
    """`--select` and `--ignore`."""
    return select(ignore(command))
