"""`python -m casebook [ids…]`: judge fitdoctor on the cases."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from casebook.case import Case, CaseError, load_all
from casebook.devices import advised_device
from casebook.diagnose import diagnose, diagnose_kept
from casebook.gain import MOST_ROUNDS, Gain, GainError
from casebook.gain_cache import GainCache
from casebook.judge import Judgement, judge, wrong_gain
from casebook.longer import DIAGNOSES, middle, pooled
from casebook.measure import measure_gain
from casebook.outcome import Outcome, count_right, count_run, to_json
from casebook.table import show
from fitdoctor.contract.records import Machine
from fitdoctor.launch.sampler import describe_machine

ROOT = Path(__file__).parent
CACHE_FILE = ROOT / ".gains.json"
ALL_RIGHT, SOME_WRONG, BAD_USE = 0, 1, 2

# Two cases that end together must not overwrite each other's gain.
_cache_lock = threading.Lock()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        cases = select(load_all(ROOT), options.ids)
    except CaseError as error:
        print(f"casebook · error: {error}", file=sys.stderr)
        return BAD_USE
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        outcomes = list(pool.map(lambda case: examine(case, options), cases))
    show(outcomes, Console())
    if options.json is not None:
        options.json.write_text(json.dumps(to_json(outcomes), indent=1) + "\n", encoding="utf-8")
    return ALL_RIGHT if count_right(outcomes) == count_run(outcomes) else SOME_WRONG


def select(cases: dict[str, Case], ids: Sequence[str]) -> list[Case]:
    """The cases named by `ids`, or all of them.

    Raises:
        CaseError: an id is not in the casebook.
    """
    unknown = [name for name in ids if name not in cases]
    if unknown:
        raise CaseError(f"unknown case {', '.join(unknown)}; valid are {', '.join(cases)}")
    return [cases[name] for name in ids] if ids else list(cases.values())


def examine(case: Case, options: argparse.Namespace) -> Outcome:
    """Diagnose one case, measure its gain, and judge."""
    if missing := missing_here(case, describe_machine()):
        return Outcome(case, Judgement((), None, ()), None, 0.0, missing)
    _tell(f"{case.id}: diagnosing")
    diagnosis = (
        diagnose_kept(case, options.kept)
        if options.kept
        else diagnose(case, keep=options.keep, budget_s=options.budget)
    )
    real: Gain | None = None
    problems: tuple[str, ...] = ()
    if options.kept:
        real = None if options.no_gain else GainCache(CACHE_FILE).get(case)
    elif not (options.no_gain or case.is_healthy):
        try:
            real = real_gain(case, fresh=options.fresh, rounds=options.rounds)
        except GainError as error:
            problems = (f"gain: {error}",)
    if case.devices:
        _tell(f"{case.id}: asking which device")
        advised = advised_device(case, keep=options.keep)
        if advised != case.devices:
            problems = (*problems, f"devices advised {advised}, expected {case.devices}")
    judgement = judge(case, diagnosis, real)
    if real is not None and not judgement.is_right and judge(case, diagnosis, None).is_right:
        if options.kept:
            judgement = judge_all_kept(case, options.kept, judgement, real)
        else:
            judgement, real = measure_longer(case, options, judgement, real)
    judgement = replace(judgement, reasons=(*judgement.reasons, *problems))
    return Outcome(case, judgement, real, diagnosis.seconds)


def missing_here(case: Case, machine: Machine) -> str:
    """What the case needs and this machine does not have; empty where it can run."""
    if case.needs == "gpu" and not machine.accelerators:
        return "needs a GPU"
    return ""


def measure_longer(
    case: Case, options: argparse.Namespace, first: Judgement, real: Gain
) -> tuple[Judgement, Gain]:
    """The cause is right and the gain is not: more diagnoses and more rounds, all of them counted.

    Every diagnosis has to find the cause; the median of what they predict is judged.
    """
    found = [first]
    for number in range(2, DIAGNOSES + 1):
        _tell(f"{case.id}: the gain misses; diagnosis {number} of {DIAGNOSES}")
        keep = options.keep / f"again{number}" if options.keep else None
        again = judge(case, diagnose(case, keep=keep, budget_s=options.budget), None)
        if not again.is_right:
            return again, real
        found.append(again)
    _tell(f"{case.id}: measuring the gain of fixed.py again")
    try:
        real = pooled(real, measure_gain(case, options.rounds))
    except GainError as error:
        return replace(first, reasons=(*first.reasons, f"gain: {error}")), real
    with _cache_lock:
        GainCache(CACHE_FILE).put(case, real)
    predicted = middle(found)
    return replace(first, predicted=predicted, reasons=tuple(wrong_gain(predicted, real))), real


def judge_all_kept(case: Case, kept: Path, first: Judgement, real: Gain) -> Judgement:
    """The same from the recordings of all diagnoses that were kept; no gain is measured."""
    found = [first]
    for number in range(2, DIAGNOSES + 1):
        folder = kept / f"again{number}"
        if not (folder / case.id).is_dir():
            continue
        again = judge(case, diagnose_kept(case, folder), None)
        if not again.is_right:
            return again
        found.append(again)
    predicted = middle(found)
    return replace(first, predicted=predicted, reasons=tuple(wrong_gain(predicted, real)))


def real_gain(case: Case, *, fresh: bool, rounds: int = MOST_ROUNDS) -> Gain:
    """The cached gain of a case, or a new measurement."""
    cache = GainCache(CACHE_FILE)
    gain = None if fresh else cache.get(case)
    if gain is None:
        _tell(f"{case.id}: measuring the gain of fixed.py")
        gain = measure_gain(case, rounds)
        with _cache_lock:
            cache.put(case, gain)
    return gain


def _tell(text: str) -> None:
    print(f"casebook · {text}", file=sys.stderr, flush=True)


def _jobs(text: str) -> int:
    jobs = int(text)
    if jobs < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, received {jobs}")
    return jobs


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m casebook", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="id", help="cases to judge (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results to FILE")
    parser.add_argument(
        "--jobs", type=_jobs, default=1, help="cases at a time; more disturb timing"
    )
    parser.add_argument("--no-gain", action="store_true", help="neither measure nor judge the gain")
    parser.add_argument(
        "--rounds", type=_jobs, default=MOST_ROUNDS, help="rounds of a gain at most; 1 is quick"
    )
    parser.add_argument("--budget", type=float, help="seconds of training to examine")
    parser.add_argument("--fresh", action="store_true", help="measure gains again, cached or not")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep reports and output in DIR")
    parser.add_argument(
        "--kept", type=Path, metavar="DIR", help="judge the recordings kept there, run nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
