from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from diagnoses import MS, bare_diagnosis, diagnosis, finding, healthy_workload, slow_workload
from rich.cells import cell_len

from fitdoctor.analysis.anomalies import IteratorWaits
from fitdoctor.contract.records import Accelerator, KerasFacts, Machine
from fitdoctor.findings.diagnosed import Diagnosis, Health, Part, StepTime
from fitdoctor.findings.finding import Cure, Where
from fitdoctor.intervals import Interval
from fitdoctor.report.step_time import bar
from fitdoctor.report.terminal import render
from fitdoctor.report.text import clean, for_encoding, place, shorten_left

CWD = "/work/project"
HOSTILE = (
    "a\x1b[31mred\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\r\n\tb\x00\x9b2J\u202egnp\u2028c\udcff"
)


def screen(shown: Diagnosis, **options: object) -> str:
    return render(shown, cwd=CWD, **options)  # type: ignore[arg-type]


# What must not be there.


def test_a_healthy_script_gets_no_advice() -> None:
    text = screen(diagnosis(healthy_workload()))
    assert "as fast as this model and this machine allow" in text
    assert "No finding" in text
    for word in (
        "Do this first",
        "What else would help",
        "[*]",
        "[!]",
        "fitdoctor rule",
        "warning",
        "not measured",
    ):
        assert word not in text


def test_a_part_that_takes_nothing_is_not_shown() -> None:
    assert "waiting for data" not in screen(diagnosis(healthy_workload()))


def test_only_commands_that_exist_are_named() -> None:
    text = screen(diagnosis(slow_workload()), verbose=True)
    assert set(re.findall(r"fitdoctor (\w+)", text)) == {"rule", "report"}


def test_not_judged_does_not_say_that_nothing_helps() -> None:
    workload = healthy_workload(
        verdict="not-judged", sentence="Not judged.", step=None, breakdown=()
    )
    text = screen(diagnosis(workload))
    assert "No finding" not in text
    assert "Not judged." in text
    assert "was not measured: no steady state" in text


def test_everything_missing_can_be_shown() -> None:
    text = screen(bare_diagnosis(), verbose=True)
    assert "our own cost not measured" in text
    assert "IN002" in text


def test_nothing_trained_can_be_shown() -> None:
    assert "0 steps" in screen(diagnosis())


def test_hostile_strings_cannot_steer_the_terminal() -> None:
    bad = finding(
        rule=HOSTILE,
        name=HOSTILE,
        where=Where(HOSTILE, 1),
        message=HOSTILE,
        cure=Cure("safe", HOSTILE),
        evidence={HOSTILE: HOSTILE},
    )
    workload = healthy_workload(
        kind=HOSTILE,
        sentence=HOSTILE,
        findings=(bad, bad),
        joint_gain=Interval(2, 1, 3),
        breakdown=(Part(HOSTILE, 1.0, 1.0),),
        health=(Health("error", HOSTILE),),
        not_measured=(HOSTILE,),
    )
    shown = diagnosis(
        workload,
        healthy_workload(kind=HOSTILE, total_ns=1),
        script=HOSTILE,
        keras=KerasFacts(version=HOSTILE, backend=HOSTILE),
        machine=Machine(platform=HOSTILE, accelerators=(Accelerator(name=HOSTILE),)),
        recording=HOSTILE,
    )
    text = screen(shown, verbose=True)
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert "[bold]" in screen(diagnosis(healthy_workload(sentence="[bold]x[/bold]")))


@pytest.mark.parametrize("width", [60, 80, 100, 300])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long_place = Where("/elsewhere/" + "deep/" * 30 + "data.py", 31)
    rows = (
        finding(),
        finding(name="recomputed-preprocessing", where=long_place, gain=Interval(1.04, 1.02, 1.05)),
        finding(message="word " * 60, cure=Cure("unsafe", "x" * 200)),
        finding(rule="IN001", name="名前" * 9, cure=Cure("advice", "move the data")),
    )
    shown = diagnosis(
        healthy_workload(
            findings=rows, joint_gain=Interval(2.6, 2.1, 2.9), step=StepTime(MS, MS, MS)
        ),
        slow_workload(),
        ended="killed",
        exit_signal=9,
    )
    lines = screen(shown, width=width, verbose=True).split("\n")
    assert max(map(cell_len, lines)) <= min(width, 100)
    if width == 80:
        assert any("data.py:31" in line and "1.04× (1.02–1.05)" in line for line in lines)


# What must be there.


def test_the_order_of_the_screen() -> None:
    text = screen(diagnosis(slow_workload(), health=(Health("info", "a short recording"),)))
    wanted = [
        "412 steps, 380 steady",
        "Two thirds of every step",
        "Do this first: read several files at once",
        "148 ms → 61.7 ms, 2.4× (1.90–2.6), estimated; keeps the training the same",
        "IN002 serial-reads at data.py:31",
        "why  The loader reads one file at a time",
        "One step of fit (train.py:88) takes 148 ms",
        "waiting for data  96.0 ms  65 %  ████",
        "With its data in memory a step takes 41.1 ms, 3.6×",
        "What else would help",
        "CB001 [!] per-batch-callback train.py:88     142 ms 1.04× (1.02–1.05)",
        "cure log every 50 batches",
        "both                                        56.9 ms    2.6× (2.1–2.9)",
        "warning: another process used 40 % of the CPU",
        "note: a short recording",
        "[!] may change it (--unsafe)",
        "fitdoctor rule IN002",
    ]
    positions = [text.find(part) for part in wanted]
    assert -1 not in positions, wanted[positions.index(-1)]
    assert positions == sorted(positions)


def test_colour_changes_nothing_but_colour() -> None:
    shown = diagnosis(slow_workload())
    plain, colored = screen(shown), screen(shown, color=True)
    assert "\x1b" not in plain
    without = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in without.split("\n")] == plain.split("\n")


def test_of_several_workloads_the_longest_and_those_with_findings_are_shown_in_full() -> None:
    longest = healthy_workload(total_ns=100_000 * MS)
    small = healthy_workload(kind="predict", calls=400, total_ns=5, where=Where("eval.py", 9))
    text = screen(diagnosis(small, slow_workload(), longest, joint_gain=Interval(1.2, 1.1, 1.3)))
    assert text.count("One step of") == 2
    assert "predict (eval.py:9), called 400 times, 412 steps: The training runs" in text
    assert "All workloads together: 1.20× (1.10–1.30)" in text


@pytest.mark.parametrize(
    ("ended", "code", "number", "words"),
    [
        ("examined", 0, None, "--continue keeps it running"),
        ("crashed", 1, None, "Your script failed (exit code 1)"),
        ("interrupted", None, 2, "was interrupted"),
        ("killed", None, 9, "SIGKILL, often: out of memory"),
        ("killed", None, None, "The script was killed;"),
        ("killed", None, 250, "signal 250"),
    ],
)
def test_how_it_ended(ended: str, code: int | None, number: int | None, words: str) -> None:
    shown = diagnosis(slow_workload(), ended=ended, exit_code=code, exit_signal=number)
    assert words in screen(shown)


def test_evidence_is_for_the_curious() -> None:
    shown = diagnosis(slow_workload())
    assert "reads_per_step=12" not in screen(shown)
    assert "disk=not measured" in screen(shown, verbose=True)


def test_clean_keeps_words_and_drops_steering() -> None:
    assert clean(HOSTILE) == "aredlink bgnp c?"
    assert clean("naïve 数据 ok") == "naïve 数据 ok"


def test_small_texts() -> None:
    assert bar(1.0, 4) == "████"
    assert bar(float("nan")) == ""
    assert place("/work/project/a/b.py", 3, cwd=CWD) == "a/b.py:3"
    assert place("/usr/lib/b.py", 3, cwd=CWD) == "/usr/lib/b.py:3"
    assert shorten_left("abcdef", 4) == "…def"
    assert for_encoding("2.4× (1.9–2.6) ▌", "ascii") == "2.4x (1.9-2.6) #"
    assert for_encoding("2.4×", "utf-8") == "2.4×"


@pytest.mark.parametrize(("count", "often"), [(1, "once"), (2, "2 times")])
def test_stalls_between_epochs_are_shown_where_there_were_some(count: int, often: str) -> None:
    none = healthy_workload(iterator_waits=IteratorWaits(0, 0.0))
    some = healthy_workload(iterator_waits=IteratorWaits(count, 706e6))
    assert "stalled" not in screen(diagnosis(none))
    text = " ".join(screen(diagnosis(some)).split())
    assert f"TensorFlow stalled {often} for 706 ms between epochs (not counted;" in text


def test_the_verdict_comes_before_all_else() -> None:
    shown = diagnosis(slow_workload(), ended="examined", health=(Health("info", "short"),))
    lines = [line for line in screen(shown).split("\n") if line]
    assert lines[1].strip() == "Two thirds of every step is spent waiting for data."


def test_the_spread_of_a_step_is_p10_to_p90() -> None:
    text = " ".join(screen(diagnosis(slow_workload())).split())
    assert "takes 148 ms (p10–p90: 140–162 ms)" in text


def test_a_screen_fits_a_terminal() -> None:
    three = (finding(), finding("CB001"), finding("HO002"))
    many = slow_workload()
    shown = diagnosis(replace(many, findings=(*three, *three)), ended="examined")
    lines = screen(shown).rstrip("\n").split("\n")
    assert len(lines) <= 30
    assert any(line.strip() == "3 more: -v" for line in lines)
    assert "more: -v" not in screen(shown, verbose=True)


def test_what_was_not_measured_is_said_where_nothing_was_found_or_asked_for() -> None:
    reason = "not measured: loader alone"
    assert reason not in screen(diagnosis(slow_workload()))
    assert reason in screen(diagnosis(slow_workload()), verbose=True)
    healthy = healthy_workload(not_measured=("loader alone: it cannot be read twice",))
    assert reason in screen(diagnosis(healthy))


def test_one_finding_needs_no_table() -> None:
    text = screen(diagnosis(replace(slow_workload(), findings=(finding(),))))
    assert "Do this first" in text and "What else would help" not in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"how": "bound", "gain": Interval(2.4, 1.0, 2.4)},
            "148 ms → at best 61.7 ms, at most 2.4×",
        ),
        ({"how": "tried"}, "148 ms → 61.7 ms, 2.4× (1.90–2.6), tried here"),
        ({"gain": Interval(0.0, 0.0, 0.0)}, "0.00× (0.00–0.00)"),
        ({"scope": "run"}, "2.4× (1.90–2.6), estimated"),
    ],
)
def test_what_the_first_thing_gains(change: dict[str, Any], words: str) -> None:
    text = screen(diagnosis(replace(slow_workload(), findings=(finding(**change),))))
    assert words in text
    assert ("→" in text) == (change.get("scope") != "run" and "0.00" not in words)
