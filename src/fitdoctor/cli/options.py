"""Options that several commands share; each also has a variable and a key in pyproject.toml."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from fitdoctor.cli.output import COLORS
from fitdoctor.contract.errors import UsageError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def rule_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The rules whose code or name begins so, as a shell offers them."""
    from fitdoctor.rules import all_rules

    wanted = incomplete.lower()
    return [
        CompletionItem(rule.code, help=rule.name)
        for rule in all_rules()
        if rule.code.lower().startswith(wanted) or (wanted and rule.name.startswith(wanted))
    ]


def _codes(context: click.Context, option: click.Parameter, value: Any) -> tuple[str, ...]:
    """Codes or families, in several options or separated by commas."""
    codes = [code.strip() for text in value for code in text.split(",")]
    return tuple(code.upper() for code in codes if code)


def _is_number(context: click.Context, option: click.Parameter, value: float) -> float:
    # A comparison with NaN is never true, so no range refuses it.
    if math.isnan(value):
        raise click.BadParameter("nan is not a number", param_hint=f"'{option.opts[0]}'")
    return value


def number(
    name: str, *, default: float, most: float, metavar: str, **more: Any
) -> Callable[[_Command], _Command]:
    """An option for a number above 0 and up to `most`."""
    return click.option(
        name,
        type=click.FloatRange(min=0, min_open=True, max=most),
        default=default,
        show_default=True,
        metavar=metavar,
        callback=_is_number,
        **more,
    )


def budget(text: str, *, default: float = 60, **more: Any) -> Callable[[_Command], _Command]:
    """`--budget`: seconds of training, or of runs."""
    return number("--budget", default=default, most=86400, metavar="SECONDS", help=text, **more)


def file_option(*names: str, text: str) -> Callable[[_Command], _Command]:
    """An option that names a file or folder."""
    return click.option(*names, type=click.Path(path_type=Path), metavar="FILE", help=text)


def recording(text: str) -> Callable[[_Command], _Command]:
    """`--from`: a recording that is already there."""
    return click.option(
        "--from", "recording", type=click.Path(path_type=Path), metavar="REC", help=text
    )


EXAMINED_TIME = "Training time to examine: up to half of it is recorded, then probes run."
force = click.option("--force", is_flag=True, help="Overwrite an output file that exists.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print nothing except errors.")
unsafe = click.option(
    "--unsafe", is_flag=True, help="Also apply cures that may change numbers or order."
)
verbose = click.option(
    "-v", "--verbose", is_flag=True, help="Also show the evidence and the machine."
)
JSON_TEXT = "Also write the result as JSON."
json_output = file_option("--json", "json_output", text=JSON_TEXT)
json_only = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout."
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


def _pack_folder(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """A folder that can hold packs, and what writing them needs."""
    if value is None:
        return None
    from fitdoctor.pack.checksum import functions

    if not value or Path(value).is_file():
        raise UsageError(f"--pack {value!r}", expected="a folder, new or of earlier packs")
    functions()  # the training script will write with it
    return value


pack = click.option(
    "--pack",
    metavar="DEST",
    callback=_pack_folder,
    help="Also make cures that store data: the script's next run writes it to this folder.",
)


def rule_options(command: _Command) -> _Command:
    """`--select` and `--ignore`."""
    texts = {
        "ignore": "Not these rules or families.",
        "select": "Only these rules or families, as in IN,CB001.",
    }
    for name, text in texts.items():
        option = click.option(
            f"--{name}",
            multiple=True,
            metavar="CODES",
            envvar=f"FITDOCTOR_{name.upper()}",
            callback=_codes,
            shell_complete=rule_codes,
            help=text,
        )
        command = option(command)
    return command
