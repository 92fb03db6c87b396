"""`fitdoctor pack`: preprocess once and store as shards that are fast to read."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import say, write
from fitdoctor.contract.errors import UsageError

if TYPE_CHECKING:
    from fitdoctor.pack.manifest import Manifest

DAMAGED = 1
LISTED_SKIPS = 10
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def _count_bytes(context: click.Context, option: click.Parameter, value: str) -> int:
    """Digits and a unit, such as 128MB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?)b?", value.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if size < 1:
        raise click.BadParameter(f"{value!r} is no size; expected for example 64MB")
    return size


def _height_and_width(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Two numbers, such as 224x224."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+)x(\d+)", value)
    if match is None or not int(match[1]) or not int(match[2]):
        raise click.BadParameter(f"{value!r} is no size; expected HEIGHTxWIDTH, as in 224x224")
    return int(match[1]), int(match[2])


@click.command("pack", short_help="Preprocess once and store as shards that are fast to read.")
@click.argument("source")
@click.argument("dest", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["tfrecord", "arrayrecord"]),
    default="tfrecord",
    show_default=True,
    help="ArrayRecord can be read in any order, by grain.",
)
@click.option(
    "--map", "map_spec", metavar="MODULE:FUNCTION", help="Applied to every element, once."
)
@click.option(
    "--shard-size",
    "shard_bytes",
    metavar="SIZE",
    callback=_count_bytes,
    default="128MB",
    show_default=True,
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=1024),
    default=lambda: len(os.sched_getaffinity(0)),
    show_default="the cores of this machine",
)
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--fields", default="", metavar="A,B", help="Only these columns or arrays.")
@click.option(
    "--type", "types", multiple=True, metavar="COLUMN=TYPE", help="The type of a CSV column."
)
@click.option("--decode", is_flag=True, help="Store images as pixels instead of as they are.")
@click.option(
    "--size", callback=_height_and_width, metavar="HxW", help="Resize images; needs --decode."
)
@click.option("--unbatch", is_flag=True, help="The function gives batches: store their rows.")
@click.option("--skip-bad", is_flag=True, help="Leave out bad items, and list them.")
@click.option("--verify", "check", is_flag=True, help="Read everything back and compare.")
@click.option("--force", is_flag=True, help="Start from scratch; delete an earlier pack in DEST.")
@shared.quiet
def command(
    *,
    source: str,
    dest: Path,
    types: tuple[str, ...],
    fields: str,
    decode: bool,
    size: tuple[int, int] | None,
    unbatch: bool,
    check: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Store SOURCE in the folder DEST as shards with a manifest.

    SOURCE is a folder of images (classes by folder), a .csv, .parquet, .npy, .npz or .h5 file,
    or module:function that returns a tf.data dataset, a PyDataset, a generator, or anything with
    a length and items. After an interruption, the same command resumes.
    """
    from fitdoctor.pack.sources.opening import open_source

    if size is not None and not decode:
        raise UsageError("--size resizes pixels", expected="--decode with it")
    opened = open_source(
        source,
        fields=tuple(name for name in fields.split(",") if name),
        types=dict(_column_type(each) for each in types),
        decode=decode,
        size=size,
        unbatch=unbatch,
    )
    manifest = _pack(opened, dest, how, quiet=quiet)
    if check and not _verified(manifest, quiet=quiet):
        sys.exit(DAMAGED)
    if not quiet:
        from fitdoctor.pack.reading.snippet import snippet

        say("read it with fitdoctor.load, or without fitdoctor:")
        write(sys.stdout, snippet(manifest))


def _column_type(text: str) -> tuple[str, str]:
    name, equals, kind = text.partition("=")
    if not (name and equals and kind):
        raise UsageError(f"--type {text}", expected="--type COLUMN=TYPE, as in price=float32")
    return name, kind


def _pack(opened: Any, dest: Path, how: dict[str, Any], *, quiet: bool) -> Manifest:
    from fitdoctor.cli.pack_progress import PackProgress
    from fitdoctor.pack.packing import pack
    from fitdoctor.pack.shard import Options
    from fitdoctor.units import size

    started = time.monotonic()
    with PackProgress("packing", quiet=quiet) as progress:
        packed = pack(opened, dest, Options(**how), progress)
    manifest, seconds = packed.manifest, time.monotonic() - started
    if quiet:
        return manifest
    shards = f"{len(manifest.shards)} shards, {size(manifest.count_bytes)}"
    text = f"{manifest.records:,} elements in {shards}"
    if packed.was_finished:
        say(f"{dest} is finished already: {text}")
    else:
        went_on = f"; {packed.kept_shards} shards were there" if packed.kept_shards else ""
        say(f"packed {text} in {seconds:.1f} s{went_on} → {dest}")
    if manifest.skipped:
        say(f"left out {len(manifest.skipped)} bad items (all are in manifest.json):")
        for bad in manifest.skipped[:LISTED_SKIPS]:
            say(f"  {bad.item}: {bad.reason}", prefix="")
    return manifest


def _verified(manifest: Manifest, *, quiet: bool) -> bool:
    from fitdoctor.cli.pack_progress import PackProgress
    from fitdoctor.pack.verify import verify

    with PackProgress("verifying", quiet=quiet) as progress:
        progress.begin(manifest.records, 0)
        wrong = verify(manifest, progress.report)
    for each in wrong:
        say(f"error: {each}")
    if not wrong and not quiet:
        say(f"verified: all {manifest.records:,} elements are as the manifest says")
    return not wrong
