"""Packs a source into a folder of shards, or continues a pack that was interrupted."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack import destination
from fitdoctor.pack.encoded_images import agreed
from fitdoctor.pack.engine import Tasks, run_local
from fitdoctor.pack.job import Job, Report, bad_item
from fitdoctor.pack.manifest import NAME, Manifest, read_manifest, write_manifest
from fitdoctor.pack.schema import Feature, Schema
from fitdoctor.pack.shard import FORMATS, Options, Receipt, read_receipt, write_json
from fitdoctor.pack.sources.data_source import Range, Records, Source, Stream
from fitdoctor.pack.sources.function import code_stamp, load_function
from fitdoctor.pack.stream import first_schema, run_stream

# Enough that a few readers find work, few enough that small packs stay small.
FEWEST_SHARDS = 8


@dataclass(frozen=True)
class Packed:
    """What came of it."""

    manifest: Manifest
    kept_shards: int  # were finished before
    was_finished: bool  # nothing had to be done


class Listener:
    """Hears of a pack's progress; does nothing by itself."""

    def begin(self, items: int | None, kept_items: int) -> None:
        """The plan stands: so many items in all, so many of them done before."""

    def report(self, items: int, count_bytes: int) -> None:
        """Items were read and so many bytes written."""


@dataclass(frozen=True)
class _Work:
    """What is packed where, as it was begun."""

    folder: Path
    options: Options
    plan: dict[str, Any] | None  # of an earlier run that was interrupted
    identity: dict[str, Any]
    listener: Listener

    def keep_plan(self, schema: Schema, **more: Any) -> dict[str, Any]:
        plan = {"identity": self.identity, **more, "schema": [one.to_json() for one in schema]}
        write_json(destination.plan_path(self.folder), plan)
        return plan


def pack(
    source: Source | Stream, folder: Path, options: Options, listener: Listener | None = None
) -> Packed:
    """Write a source to a folder.

    Raises:
        UsageError: Source, options or destination cannot be worked with, or an item is bad.
        OutputError: The destination cannot be written.
    """
    if options.file_format not in FORMATS:
        raise UsageError(f"format {options.file_format!r}", expected=" or ".join(FORMATS))
    if options.map_spec:
        load_function(options.map_spec)
    identity = _identity(source, options)
    with destination.taken(folder, force=options.force, waits=options.waits):
        if (folder / NAME).exists():
            manifest = read_manifest(folder)
            _check_same(folder, manifest.identity, identity)
            return Packed(manifest, 0, True)
        destination.remove_parts(folder)
        plan = destination.read_plan(folder)
        if plan is not None:
            _check_same(folder, plan.get("identity") or {}, identity)
        work = _Work(folder, options, plan, identity, listener or Listener())
        pack_all = _pack_stream if hasattr(source, "elements") else _pack_ranges
        schema, receipts, kept = pack_all(cast(Any, source), work)
        manifest = _manifest(work, schema, receipts)
        write_manifest(manifest)
        with contextlib.suppress(OSError):  # left-overs do no harm beside a manifest
            destination.clear_work(folder)
        return Packed(manifest, kept, False)


def _identity(source: Source | Stream, options: Options) -> dict[str, Any]:
    # Not whether bad items are left out: a shard that is finished without that stays right.
    return {
        "source": source.facts(),
        "format": options.file_format,
        "shard_bytes": options.shard_bytes,
        "map": [options.map_spec, code_stamp(options.map_spec)] if options.map_spec else None,
    }


def _check_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    if before != now:
        parts = [key for key in now if before.get(key) != now[key]]
        raise UsageError(
            f"{folder} holds a pack that was made or begun with another {' and '.join(parts)}",
            expected="the same source and options as before",
            advice="another folder, or --force to start from scratch (the earlier pack is deleted)",
        )


def _pack_ranges(source: Source, work: _Work) -> tuple[Schema, list[Receipt], int]:
    folder, options, plan = work.folder, work.options, work.plan
    if plan is None:
        shards = max(FEWEST_SHARDS, 2 * options.workers)
        planned = [one.to_json() for one in source.ranges(options.shard_bytes, shards)]
        schema, _ = first_schema(_items(source, options), options)
        plan = work.keep_plan(schema, ranges=planned)
    ranges = [Range.from_json(each) for each in plan["ranges"]]
    schema = tuple(Feature.from_json(each) for each in plan["schema"])
    found = [read_receipt(folder, number) for number in range(len(ranges))]
    tasks = [(n, ranges[n]) for n, receipt in enumerate(found) if receipt is None]
    receipts = [receipt for receipt in found if receipt is not None]
    kept = len(receipts)
    work.listener.begin(
        sum(each.stop - each.start for each in ranges), sum(each.items for each in receipts)
    )
    run = _engine(options.engine)
    job = Job(source, folder, schema, options)
    receipts += run(job, tasks, options.workers, work.listener.report)
    return schema, receipts, kept


def _engine(name: str) -> Callable[[Job, Tasks, int, Report], Any]:
    if name == "ray":
        from fitdoctor.pack.ray_engine import run_ray

        return run_ray
    if name == "local":
        return run_local
    raise UsageError(f"engine {name!r}", expected="local or ray")


def _items(source: Source, options: Options) -> Iterator[tuple[str, Any]]:
    for part in source.ranges(options.shard_bytes, 1):
        for block in source.blocks(part):
            if block.bad and not options.skip_bad:
                raise bad_item(block.bad[0])
            yield from block.each()


def _pack_stream(source: Stream, work: _Work) -> tuple[Schema, list[Receipt], int]:
    if work.options.engine == "ray":
        raise UsageError(
            "a stream of elements is read in one place and gains nothing from Ray",
            expected="a source with a length: files, or an object with items by number",
            advice="leave out --engine ray",
        )
    plan = work.plan
    if plan is None and isinstance(source, Records):
        plan = work.keep_plan(())
    known = tuple(Feature.from_json(each) for each in plan["schema"]) if plan else None
    work.listener.begin(None, 0)
    report = work.listener.report
    return run_stream(source, work.folder, work.options, known, work.keep_plan, report)


def _manifest(work: _Work, schema: Schema, receipts: list[Receipt]) -> Manifest:
    ordered = tuple(sorted(receipts, key=lambda receipt: receipt.number))
    found = [receipt.images for receipt in ordered if receipt.images]
    if found and not work.options.map_spec:
        images = functools.reduce(agreed, found)
        schema = tuple(
            replace(f, image=images) if f.name == "image" and f.dtype == "bytes" else f
            for f in schema
        )
    identity, file_format = work.identity, work.options.file_format
    return Manifest(work.folder, file_format, schema, ordered, identity["source"], identity)
