"""The page: silent about nothing, harmless with anything, complete in itself."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import browser
import pytest
from diagnoses import bare_diagnosis, diagnosis, slow_workload
from hostile import hostile_recording

from fitdoctor.contract.evidence.pipeline import StageTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Event, EventDetail, Recording
from fitdoctor.diagnosis import diagnose
from fitdoctor.library.notebook import Report
from fitdoctor.report.html.page import render
from fitdoctor.report.proof_file import Proof
from fitdoctor.report.terminal import render as render_terminal
from synthetic import MS, fit_workload, recording, slow_pipeline, stage, timed

MOST_BYTES = 1_000_000


class Elements(HTMLParser):
    """Every element with its attributes, and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.blocks: dict[str, str] = {}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.blocks[self._open] = self.blocks.get(self._open, "") + data
        else:
            self.text += data


def page_of(made: Recording) -> tuple[str, Elements]:
    page = render(diagnose(made), made)
    return page, Elements(page)


def input_bound() -> Recording:
    return recording(
        slow_pipeline(
            stage("batch", 0, batch_size=32),
            stage("map", 1, python=True, parallel=8),
            stage("range", 2, inputs=()),
            rows=[
                StageTime(0, 1.0, 30 * MS, 30 * MS, 0, 0),
                StageTime(1, 32.0, 30 * MS, 30 * MS, 29 * MS, 29 * MS),
                StageTime(2, 32.0, 1 * MS, 1 * MS, 1 * MS, 1 * MS),
            ],
        )
    )


@pytest.mark.parametrize("renames", [False, True])
def test_hostile_texts_stay_texts_on_the_page(tmp_path: Path, renames: bool) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=renames))
    assert not made.broken_lines  # otherwise little of it would reach the page
    page, elements = page_of(made)
    assert "onerror" in elements.text  # it was there to be escaped
    tags = {tag for tag, _ in elements.found}
    assert "img" not in tags and "b" not in tags
    assert sum(tag == "script" for tag, _ in elements.found) == 3
    assert not any(name.startswith("on") for _, attrs in elements.found for name in attrs)
    for character in "\x00\x07\x1b\u202e\u2066\u2028\u2029":
        assert character not in page
    data = elements.blocks["data"]
    assert not set(data) & set("<>&")
    json.loads(data)


@pytest.mark.parametrize("renames", [False, True])
def test_hostile_texts_cannot_steer_the_terminal(tmp_path: Path, renames: bool) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=renames))
    screen = render_terminal(diagnose(made), verbose=True)
    assert "onerror" in screen
    for character in "\x00\x07\x1b\r\u202e\u2066\u2028\u2029":
        assert character not in screen


@pytest.mark.parametrize("renames", [False, True])
def test_hostile_texts_stay_texts_in_a_notebook(tmp_path: Path, renames: bool) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=renames))
    found = diagnose(made)
    report = Report(render(found, made), render_terminal(found))
    elements = Elements(report._repr_html_())
    ((tag, attrs),) = elements.found  # one frame, and nothing beside it
    assert tag == "iframe" and attrs["sandbox"] == "allow-scripts"
    assert sorted(attrs) == ["sandbox", "srcdoc", "style", "title"] and elements.text == ""
    assert "onerror" in (attrs["srcdoc"] or "")
    for character in "\x00\x07\x1b\r\u202e\u2066\u2028\u2029":
        assert character not in repr(report) + report._repr_html_()


def test_the_page_asks_for_nothing() -> None:
    page, elements = page_of(input_bound())
    for tag, attrs in elements.found:
        assert tag not in ("link", "iframe", "object", "embed")
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert "@import" not in page and "url(" not in page
    policy = next(a["content"] for t, a in elements.found if t == "meta" and "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none'")


def test_nothing_measured_is_said_and_not_zero() -> None:
    empty = recording()
    page = render(bare_diagnosis(), empty)
    text = " ".join(Elements(page).text.split())
    assert "was not measured: no steady state" in text
    assert "Cost of recordingnot measured" in text
    assert "were not sampled" not in text  # there is no plot for it to stand beside
    assert "No Keras training was seen" in " ".join(
        Elements(render(diagnose(empty), empty)).text.split()
    )


def test_a_healthy_training_has_no_finding() -> None:
    made = recording(fit_workload(found=[timed(FrozenBatch, 9.9 * MS)]))
    _, elements = page_of(made)
    assert "Nothing that was measured would make this faster" in " ".join(elements.text.split())
    assert not any("finding" in (a.get("class") or "") for _, a in elements.found)


def test_the_narrowest_stage_is_marked_once() -> None:
    _, elements = page_of(input_bound())
    classes = [(a.get("class") or "").split() for t, a in elements.found if t == "li"]
    stages = [names for names in classes if "stage" in names]
    assert ["narrowest" in names for names in stages] == [False, True, False, False]


def test_findings_show_gain_cure_and_proof() -> None:
    found = diagnosis(slow_workload())
    proof = Proof("proven", None, None, 6, "identical", "bitwise", "")
    text = " ".join(Elements(render(found, recording(), proof=proof)).text.split())
    for finding in found.workloads[0].findings:
        assert finding.rule in text and finding.cure.summary in text
    assert "2.4× (1.90–2.6)" in text and "All of these together: 2.6×" in text
    assert "reads per step12" in text and "disknot measured" in text
    assert "Proven" in text and "Same data: identical" in text


def test_a_long_training_is_thinned_and_says_so() -> None:
    marks = tuple(
        Event("validation", 10**9 + i * 10 * MS, MS, 0, i, EventDetail())
        for i in range(0, 100_000, 100)
    )
    made = recording(fit_workload(steps=100_000, found=[timed(FrozenBatch, 9 * MS)], events=marks))
    page, elements = page_of(made)
    assert len(page.encode()) < MOST_BYTES
    chart = json.loads(elements.blocks["data"])["steps"][0]
    assert len(chart["x"]) <= 1500 and len(chart["low"]) == len(chart["x"])
    text = " ".join(elements.text.split())
    assert "100,000 steps are drawn as" in text
    assert "1,000 marks of kind validation" in text


def test_scripts_match_the_policy() -> None:
    page, _ = page_of(input_bound())
    hashes = re.findall(r"&#39;sha256-([^&]+)&#39;", page)
    assert len(hashes) == 2  # the plots' library and our own script, and nothing else may run


in_a_browser = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")
DRAWN = (
    "[...document.querySelectorAll('.plot canvas')].filter(c => c.getContext('2d')"
    ".getImageData(0, 0, c.width, c.height).data.some(v => v)).length"
)
# Texts that stick out of the page.
CUT = (
    "[...document.querySelectorAll('main *')].filter(e => e.children.length === 0 && "
    "e.textContent.trim() && getComputedStyle(e).position !== 'absolute' && "
    "!e.closest('.scroll, .diff, .u-legend, .sr') && "
    "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 40))"
)


def seen_in_browser(
    page: str, folder: Path, width: int, *, dark: bool = False, **questions: str
) -> browser.Seen:
    pytest.importorskip("websocket")
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    seen = browser.look_at(file, folder, width=width, dark=dark, questions=questions)
    assert seen.errors == []
    assert [url for url in seen.requests if url != "about:srcdoc"] == [file.resolve().as_uri()]
    return seen


@in_a_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_hostile_texts_in_a_browser(tmp_path: Path, width: int, dark: bool) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=False))
    answers = seen_in_browser(
        render(diagnose(made), made),
        tmp_path,
        width,
        dark=dark,
        broken="typeof window.broken",
        plots="document.documentElement.dataset.plots",
        canvases=DRAWN,
        reaches="document.documentElement.scrollWidth",
        cut=CUT,
        ground="getComputedStyle(document.body).backgroundColor",
    ).answers
    assert answers["broken"] == "undefined"
    assert answers["plots"] == "5" and answers["canvases"] == 5
    assert answers["reaches"] <= width and answers["cut"] == []
    assert answers["ground"] == ("rgb(21, 24, 27)" if dark else "rgb(251, 251, 249)")


@in_a_browser
def test_a_long_training_can_be_zoomed_into(tmp_path: Path) -> None:
    made = recording(fit_workload(steps=100_000, found=[timed(FrozenBatch, 9 * MS)]))
    press = "document.querySelector('.zoom button[data-{}]').click()"
    answers = seen_in_browser(
        render(diagnose(made), made),
        tmp_path,
        1280,
        before=DRAWN,
        buttons="document.querySelectorAll('.zoom:not([hidden]) button').length",
        zoomed=press.format('zoom="0.5"'),
        moved=press.format('move="0.5"'),
        everything=press.format("all"),
        after=DRAWN,
        thinned="document.querySelector('main').innerText.includes('are drawn as')",
    ).answers
    assert answers["before"] == 1 and answers["after"] == 1
    assert answers["buttons"] == 5 and answers["thinned"] is True


@in_a_browser
def test_a_part_of_the_account_takes_the_whole_width_and_gives_it_back(tmp_path: Path) -> None:
    made = recording(fit_workload(period=30 * MS, wait=20 * MS, found=[timed(FrozenBatch, 9 * MS)]))
    widest = (
        "Math.max(...[...document.querySelectorAll('.flame button.part')]"
        ".map(e => e.offsetWidth / e.parentElement.offsetWidth))"
    )
    press = "document.querySelector('.flame {}').click()"
    answers = seen_in_browser(
        render(diagnose(made), made),
        tmp_path,
        1280,
        parts="document.querySelectorAll('.flame button.part').length",
        before=widest,
        chosen=press.format("button.part:last-of-type"),
        zoomed=widest,
        pressed="document.querySelectorAll('.flame button[aria-pressed=true]').length",
        whole=press.format("[data-whole]"),
        after=widest,
    ).answers
    assert answers["parts"] > 1 and answers["pressed"] == 1
    assert answers["zoomed"] > 0.95 > answers["before"] == answers["after"]


@in_a_browser
def test_hostile_texts_in_a_notebook(tmp_path: Path) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=False))
    found = diagnose(made)
    shown = Report(render(found, made), render_terminal(found))._repr_html_()
    seen = seen_in_browser(
        f"<!doctype html><meta charset=utf-8><body>{shown}</body>",
        tmp_path,
        1280,
        broken="typeof window.broken",
        frames="document.querySelectorAll('iframe').length",
        others="document.querySelectorAll('body *').length",
    )
    assert seen.answers == {"broken": "undefined", "frames": 1, "others": 1}
