"""The page with a proof, by keyboard, for screen readers, and as one small file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from diagnoses import diagnosis, slow_workload
from test_html_page import CUT, Elements, in_a_browser, input_bound, seen_in_browser

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import Recording, Sample
from fitdoctor.diagnosis import diagnose
from fitdoctor.report.html.page import render
from fitdoctor.report.html.proof_picture import proof_picture
from fitdoctor.report.proof_file import Proof, read_proof
from synthetic import MS, fit_workload, recording, timed

SMALL = 300_000
PROVEN = Proof("proven", None, None, 8, "identical", "bitwise", "", 41.0 * MS, 17.0 * MS)


def proven_page() -> str:
    made = input_bound()
    return render(diagnose(made), made, proof=PROVEN)


def test_without_times_there_is_no_picture() -> None:
    assert proof_picture(replace(PROVEN, after_ns=None)) is None
    page = render(diagnosis(slow_workload()), recording(), proof=replace(PROVEN, before_ns=None))
    assert "data-compare" not in {name for _, attrs in Elements(page).found for name in attrs}


@pytest.mark.parametrize("bad", [None, 0, -1, True, "12", float("inf")])
def test_a_time_that_is_none_is_not_shown(tmp_path: Path, bad: object) -> None:
    file = tmp_path / "proof.json"
    file.write_text(json.dumps({"verdict": "proven", "step_ns": {"before": bad, "after": 5e6}}))
    proof = read_proof(file)
    assert proof.before_ns is None and proof.after_ns == 5e6


def test_the_picture_is_to_scale_and_says_where_it_is_not() -> None:
    picture = proof_picture(PROVEN)
    assert picture is not None and picture.is_to_scale
    assert picture.before_width / picture.after_width == pytest.approx(41 / 17)
    slower = proof_picture(replace(PROVEN, before_ns=17.0, after_ns=41.0))
    assert slower is not None and slower.after_width == pytest.approx(0.25)
    tiny = proof_picture(replace(PROVEN, after_ns=0.1 * MS))
    assert tiny is not None and not tiny.is_to_scale


def long_recording() -> Recording:
    """Eight long fits and the samples of an hour."""
    fits = [
        replace(
            fit_workload(steps=4_000, wait=3 * MS, found=[timed(FrozenBatch, 9 * MS)]),
            number=number,
            line=number,
        )
        for number in range(1, 9)
    ]
    made = recording(*fits)
    second = 10**9
    samples = [
        Sample(t=n * second, cores=(31.25, 98.4375), cpu_ns=n * 812_345_678, rss=10**9 + n)
        for n in range(3600)
    ]
    return replace(made, samples=tuple(samples))


def test_the_page_of_a_long_training_is_one_small_file() -> None:
    made = long_recording()
    page = render(diagnose(made), made, proof=PROVEN)
    assert len(json.loads(Elements(page).blocks["data"])["steps"]) == 8
    assert len(page.encode()) < SMALL


def test_roles_and_labels_are_there_without_a_browser() -> None:
    elements = Elements(proven_page())
    ids = {attrs["id"] for _, attrs in elements.found if attrs.get("id")}
    for tag, attrs in elements.found:
        if "aria-labelledby" in attrs:
            assert attrs["aria-labelledby"] in ids
        if attrs.get("role") in ("img", "region", "group"):
            assert attrs.get("aria-label"), (tag, attrs)
        if tag == "div" and "scroll" in (attrs.get("class") or ""):
            assert attrs.get("tabindex") == "0"  # else a keyboard cannot reach what is cut off
    assert [tag for tag, _ in elements.found].count("h1") == 1


# Everything that the Tab key stops at has a name that a screen reader can say.
NAMELESS = (
    "[...document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]')]"
    ".filter(e => e.offsetParent !== null && !(e.getAttribute('aria-label') || "
    "e.textContent.trim() || (e.labels && e.labels.length && e.labels[0].textContent.trim())))"
    ".map(e => e.outerHTML.slice(0, 80))"
)
# Where tab order and reading order differ, a keyboard jumps about.
OUT_OF_ORDER = "document.querySelectorAll('[tabindex]:not([tabindex=\"0\"]):not(main)').length"
PRESS = (
    "(() => {{ const i = document.querySelector('.slide input'); i.value = {}; "
    "i.dispatchEvent(new Event('input')); return i.getAttribute('aria-valuetext'); }})()"
)
SHOWN = "getComputedStyle(document.querySelector('.lane.before')).clipPath"


@in_a_browser
@pytest.mark.parametrize("width", [390, 820, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_a_proven_page_at_every_width(tmp_path: Path, width: int, dark: bool) -> None:
    answers = seen_in_browser(
        proven_page(),
        tmp_path,
        width,
        dark=dark,
        nameless=NAMELESS,
        jumps=OUT_OF_ORDER,
        reaches="document.documentElement.scrollWidth",
        cut=CUT,
        half=SHOWN,
        words=PRESS.format(100),
        before=SHOWN,
        again=PRESS.format(30),
        low="Math.min(...[...document.querySelectorAll('p, td, th, li, dd')].filter(e => "
        "e.offsetParent && e.textContent.trim())"
        ".map(e => parseFloat(getComputedStyle(e).fontSize)))",
    ).answers
    assert answers["nameless"] == [] and answers["jumps"] == 0
    assert answers["reaches"] <= width and answers["cut"] == []
    assert answers["half"] != answers["before"]
    assert answers["words"] == "only before" and answers["again"] == "30 % before, 70 % after"
    assert answers["low"] >= 11


@in_a_browser
def test_escape_and_enter_work_on_the_account(tmp_path: Path) -> None:
    key = (
        "document.querySelector('.flame button.part').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))"
    )
    answers = seen_in_browser(
        proven_page(),
        tmp_path,
        1280,
        chosen="document.querySelector('.flame button.part').click()",
        zoomed="document.querySelectorAll('.flame.zoomed').length",
        escaped=key,
        back="document.querySelectorAll('.flame.zoomed').length",
        focus="(() => { const b = document.querySelector('.flame button.part'); b.focus(); "
        "return document.activeElement === b; })()",
    ).answers
    assert answers["zoomed"] == 1 and answers["back"] == 0 and answers["focus"] is True
