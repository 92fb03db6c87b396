"""Packs a source into a folder of shards, or continues a pack that was interrupted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack import destination
from fitdoctor.pack.engine import Report, Tasks, run_local
from fitdoctor.pack.image_header import agreed
from fitdoctor.pack.job import Job
from fitdoctor.pack.manifest import NAME, Manifest, read_manifest, write_manifest
from fitdoctor.pack.schema import Feature, Schema
from fitdoctor.pack.shard import FORMATS, Receipt, read_receipt
from fitdoctor.pack.sources.data_source import Range, Source, Stream
from fitdoctor.pack.sources.function import code_stamp, load_function
from fitdoctor.pack.sources.record_source import Records
from fitdoctor.pack.stream import first_schema, run_stream

DEFAULT_SHARD_BYTES = 128_000_000
# Enough that a few readers find work, few enough that small packs stay small.
FEWEST_SHARDS = 8


@dataclass(frozen=True)
class Options:
    """How to pack; what decides the bytes is part of a pack's identity."""

    file_format: str = "tfrecord"
    shard_bytes: int = DEFAULT_SHARD_BYTES
    map_spec: str | None = None
    skip_bad: bool = False
    workers: int = 1
    engine: str = "local"
    force: bool = False
    waits: bool = False  # for another process that writes to the same folder, however long


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
        destination.write_plan(self.folder, plan)
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
    listener = listener or Listener()
    if options.map_spec:
        load_function(options.map_spec)
    identity = _identity(source, options)
    with destination.taken(folder, force=options.force, waits=options.waits):
        if (folder / NAME).exists():
            return Packed(_same_pack(folder, identity), 0, True)
        destination.remove_parts(folder)
        plan = destination.read_plan(folder)
        if plan is not None and plan.get("identity") != identity:
            raise _changed(folder, plan.get("identity") or {}, identity)
        stream = hasattr(source, "elements")
        pack_all = _pack_stream if stream else _pack_ranges
        work = _Work(folder, options, plan, identity, listener)
        manifest, kept = pack_all(cast(Any, source), work)
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


def _same_pack(folder: Path, identity: dict[str, Any]) -> Manifest:
    manifest = read_manifest(folder)
    if manifest.identity != identity:
        raise _changed(folder, manifest.identity, identity)
    return manifest


def _changed(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> UsageError:
    parts = [key for key in now if before.get(key) != now[key]]
    return UsageError(
        f"{folder} holds a pack that was made or begun with another {' and '.join(parts)}",
        expected="the same source and options as before",
        advice="another folder, or --force to start from scratch (the earlier pack is deleted)",
    )


def _pack_ranges(source: Source, work: _Work) -> tuple[Manifest, int]:
    folder, options, plan = work.folder, work.options, work.plan
    if plan is None:
        shards = max(FEWEST_SHARDS, 2 * options.workers)
        planned = [one.to_json() for one in source.ranges(options.shard_bytes, shards)]
        plan = work.keep_plan(_first_schema(source, options), ranges=planned)
    ranges = [Range.from_json(each) for each in plan["ranges"]]
    schema = tuple(Feature.from_json(each) for each in plan["schema"])
    receipts = [read_receipt(folder, number) for number in range(len(ranges))]
    tasks = [(n, ranges[n]) for n, receipt in enumerate(receipts) if receipt is None]
    finished = [receipt for receipt in receipts if receipt is not None]
    work.listener.begin(
        sum(each.stop - each.start for each in ranges), sum(each.items for each in finished)
    )
    job = Job(source, folder, options.file_format, schema, options.map_spec, options.skip_bad)
    kept = len(finished)
    run = _engine(options.engine)
    finished += run(job, tasks, options.workers, work.listener.report)
    return _manifest(work, schema, finished), kept


def _engine(name: str) -> Callable[[Job, Tasks, int, Report], Any]:
    if name == "ray":
        from fitdoctor.pack.ray_engine import run_ray

        return run_ray
    if name == "local":
        return run_local
    raise UsageError(f"engine {name!r}", expected="local or ray")


def _first_schema(source: Source, options: Options) -> Schema:
    def items() -> Any:
        for part in source.ranges(options.shard_bytes, 1):
            for block in source.blocks(part):
                if block.bad and not options.skip_bad:
                    from fitdoctor.pack.job import bad_item

                    raise bad_item(block.bad[0])
                yield from block.each()

    schema, _ = first_schema(items(), options.map_spec, options.skip_bad)
    if schema is None:
        raise _empty()
    return schema


def _empty() -> UsageError:
    return UsageError(
        "the source has no element that can be packed",
        expected="at least one good element",
        advice="without --skip-bad the first bad one is named",
    )


def _pack_stream(source: Stream, work: _Work) -> tuple[Manifest, int]:
    folder, options, plan = work.folder, work.options, work.plan
    if options.engine == "ray":
        raise UsageError(
            "a stream of elements is read in one place and gains nothing from Ray",
            expected="a source with a length: files, or an object with items by number",
            advice="leave out --engine ray",
        )
    known = tuple(Feature.from_json(each) for each in plan["schema"]) if plan else None
    if known is None and isinstance(source, Records):
        known = ()
        work.keep_plan(known)
    before = 0
    while read_receipt(folder, before) is not None:
        before += 1
    work.listener.begin(None, 0)
    schema, receipts = run_stream(
        source,
        folder,
        file_format=options.file_format,
        shard_bytes=options.shard_bytes,
        map_spec=options.map_spec,
        skip_bad=options.skip_bad,
        schema=known,
        on_schema=work.keep_plan,
        report=work.listener.report,
    )
    if schema is None or not receipts:
        raise _empty()
    return _manifest(work, schema, receipts), before


def _manifest(work: _Work, schema: Schema, receipts: list[Receipt]) -> Manifest:
    ordered = tuple(sorted(receipts, key=lambda receipt: receipt.number))
    images: dict[str, Any] = {}
    for receipt in ordered:
        if receipt.images:
            images = agreed(images, receipt.images)
    if images and not work.options.map_spec:
        schema = tuple(
            replace(f, image=images) if f.name == "image" and f.dtype == "bytes" else f
            for f in schema
        )
    identity, file_format = work.identity, work.options.file_format
    return Manifest(work.folder, file_format, schema, ordered, identity["source"], identity)
