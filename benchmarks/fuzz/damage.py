"""Ways to damage a recording, from a flipped bit to numbers that are merely impossible."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Line = dict[str, Any]

ABSURD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, -5, 2**31, 2**53 + 1, 2**62, 2**62 + 1, 2**63, 2**64, 10**30,
    -(2**63), 0.0, -0.0, 0.5, 1e-9, 5e-324, 1e300, -1e300, float("nan"), float("inf"),
    float("-inf"), "", "x", "0", "-1", "nan", "\ud800", "\udcff/\x00\x1b[31m", "é" * 300, "16", [],
    [0], [None], [1, 2, 3], [-1.0], ["a"], [[]], {}, {"a": 1}, {"": None}, {"0": [1.0]}, {"-3": {}},
)  # fmt: skip
KINDS = (
    "workload", "steps", "calls", "open_call", "callbacks", "event", "probe", "note", "machine",
    "keras", "sample", "overhead", "exit", "sources", "end", "examined", "header", "future",
)  # fmt: skip
FACTORS = (0, -1, 2, 0.5, 1000, 1e-3, 1e6, 1e-6, 1e12)
MOST_CHANGES = 4


def damaged(seed: list[Line], rng: random.Random) -> bytes:
    """The bytes of a recording with one to a few things wrong with it."""
    lines: list[Any] = json.loads(json.dumps(seed))
    for _ in range(rng.randint(1, MOST_CHANGES)):
        rng.choice(_ON_RECORDS)(lines, rng)
    text = "\n".join(_line(line) for line in lines) + "\n"
    data = text.encode("utf-8", "surrogatepass")
    return rng.choice(_ON_BYTES)(data, rng) if rng.random() < 0.15 else data


def _line(line: Any) -> str:
    return line if isinstance(line, str) else json.dumps(line)


def _record(lines: list[Any], rng: random.Random) -> Line:
    """One record; each kind is as likely, so that many samples do not hide the rest."""
    known = [line for line in lines[1:] if isinstance(line, dict)] or [{}]
    kind = rng.choice(sorted({str(line.get("k")) for line in known}))
    return rng.choice([line for line in known if str(line.get("k")) == kind])


def _holder(lines: list[Any], rng: random.Random) -> tuple[Any, Any]:
    """A list or object somewhere inside a record, and one of its keys."""
    at: Any = _record(lines, rng)
    if rng.random() < 0.02 and isinstance(lines[0], dict):
        at = lines[0]
    while True:
        keys = _keys(at)
        if not keys:
            return {"": 0}, ""
        key = rng.choice(keys)
        inner = at[key]
        if not _keys(inner) or rng.random() < 0.2:
            return at, key
        at = inner


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value)
    return list(range(len(value))) if isinstance(value, list) else []


def _replace(lines: list[Any], rng: random.Random) -> None:
    at, key = _holder(lines, rng)
    at[key] = json.loads(json.dumps(rng.choice(ABSURD)))


def _other_number(lines: list[Any], rng: random.Random) -> None:
    """A number that may be there, but hardly can be true."""
    for _ in range(rng.choice((1, 3, 10))):
        at, key = _holder(lines, rng)
        value = rng.choice((0, 1, 2, round(2 ** rng.uniform(0, 62))))
        if type(at[key]) is int:
            at[key] = value
        elif type(at[key]) is float:
            at[key] = value * rng.choice((1.0, 1e-9))
        elif type(at[key]) is bool:
            at[key] = not at[key]


def _remove(lines: list[Any], rng: random.Random) -> None:
    at, key = _holder(lines, rng)
    if isinstance(at, dict) and key != "k":
        del at[key]
    elif isinstance(at, list):
        del at[key:]


def _scale(lines: list[Any], rng: random.Random) -> None:
    at, key = _holder(lines, rng)
    at[key] = _scaled(at[key], rng.choice(FACTORS))


def _scale_record(lines: list[Any], rng: random.Random) -> None:
    """All numbers of a record: zero durations, negative steps, times of another clock."""
    record, factor = _record(lines, rng), rng.choice(FACTORS)
    for key in record:
        if key not in ("k", "w"):
            record[key] = _scaled(record[key], factor)


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_scaled(one, factor) for one in value]
    if isinstance(value, dict):
        return {key: _scaled(one, factor) for key, one in value.items()}
    if type(value) is int:
        return round(value * factor)
    return value * factor if type(value) is float else value


def _swap_fields(lines: list[Any], rng: random.Random) -> None:
    (one, a), (other, b) = _holder(lines, rng), _holder(lines, rng)
    one[a], other[b] = json.loads(json.dumps([other[b], one[a]]))


def _reverse(lines: list[Any], rng: random.Random) -> None:
    record = _record(lines, rng)
    for key, value in record.items():
        if isinstance(value, list):
            record[key] = value[::-1] if rng.random() < 0.5 else sorted(value, key=repr)


def _empty_columns(lines: list[Any], rng: random.Random) -> None:
    record = _record(lines, rng)
    keep = rng.choice((0, 0, 1, 2))
    for key, value in record.items():
        if isinstance(value, list):
            record[key] = value[:keep]


def _same_values(lines: list[Any], rng: random.Random) -> None:
    """A list whose values are all one: times that stand still."""
    record = _record(lines, rng)
    lists = [key for key, value in record.items() if isinstance(value, list) and value]
    if lists:
        key = rng.choice(lists)
        record[key] = [rng.choice((record[key][0], 0, 1))] * len(record[key])


def _parents(lines: list[Any], rng: random.Random) -> None:
    """Workloads that are their own parents, or each other's."""
    found = [one for one in lines if isinstance(one, dict) and one.get("k") == "workload"]
    for one in found:
        one["parent"] = rng.choice([other.get("w") for other in found])
    if found:
        again = {**rng.choice(found), "w": rng.choice((0, 1, 2, 3, 99))}
        lines.insert(rng.randrange(1, len(lines) + 1), again)


def _other_kind(lines: list[Any], rng: random.Random) -> None:
    _record(lines, rng)["k"] = rng.choice(KINDS)


def _other_word(lines: list[Any], rng: random.Random) -> None:
    """Another kind of training, backend or event than it was."""
    record = _record(lines, rng)
    inner = record.get("detail")
    at = inner if isinstance(inner, dict) else record
    words = ("fit", "loop", "predict", "train_on_batch", "jax", "torch", "optimizer", "ok", "trace")
    at[rng.choice(("kind", "backend", "marker", "name", "status"))] = rng.choice(words)


def _other_result(lines: list[Any], rng: random.Random) -> None:
    """The result of one probe under the name of another."""
    probes = [one for one in lines if isinstance(one, dict) and one.get("k") == "probe"]
    if len(probes) > 1:
        one, other = rng.sample(probes, 2)
        one["data"] = json.loads(json.dumps(other.get("data")))


def _drop_lines(lines: list[Any], rng: random.Random) -> None:
    share = rng.choice((0.05, 0.3, 0.7))
    lines[1:] = [line for line in lines[1:] if rng.random() > share]


def _repeat_line(lines: list[Any], rng: random.Random) -> None:
    if len(lines) > 1:
        line = json.loads(json.dumps(rng.choice(lines[1:])))
        lines.insert(rng.randrange(1, len(lines) + 1), line)


def _shuffle(lines: list[Any], rng: random.Random) -> None:
    rest = lines[1:]
    rng.shuffle(rest)
    lines[1:] = rest


def _garbage_line(lines: list[Any], rng: random.Random) -> None:
    depth = rng.choice((5, 200, 20_000))
    deep = "[" * depth + "]" * depth
    choices = ("{", "[]", "null", "\x00", '"text"', "{}", f'{{"k":"probe","w":1,"data":{deep}}}')
    lines.insert(rng.randrange(1, len(lines) + 1), rng.choice(choices))


def _huge_number(lines: list[Any], rng: random.Random) -> None:
    digits = rng.choice((30, 400, 5000))
    line = f'{{"k":"sample","t":{"9" * digits},"rss":1e{digits}}}'
    lines.insert(rng.randrange(1, len(lines) + 1), line)


def _flip_bytes(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    begin, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:begin] + data[end:]


def _foreign_bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randint(1, 200)) + data[at:]


_ON_BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip_bytes, _flip_bytes, _cut, _cut_out, _foreign_bytes,
)  # fmt: skip
_ON_RECORDS: tuple[Callable[[list[Any], random.Random], None], ...] = (
    _replace, _replace, _replace, _replace, _replace, _remove, _remove, _scale, _scale, _scale,
    _other_number, _other_number, _other_number, _other_number, _other_number, _other_number,
    _scale_record, _scale_record, _swap_fields, _reverse, _empty_columns, _same_values, _parents,
    _other_kind, _other_word, _other_result, _drop_lines, _repeat_line, _shuffle, _garbage_line,
    _huge_number,
)  # fmt: skip
