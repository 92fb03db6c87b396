"""Cures that store data: left out unless a folder is named, then one call more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cured import MS, diagnosis, finding
from edit_text import after, at, is_there, why_not

from fitdoctor.cures.choice import choose
from fitdoctor.cures.patch import plan
from fitdoctor.findings.edits import AppendCall, ReadPacked
from fitdoctor.findings.place import Where

TEXT = '"""Trains."""\n\nimport tensorflow as tf\n\nd = tf.data.TFRecordDataset(paths).batch(32)\n'
EDIT = ReadPacked(at(5), "TFRecordDataset", 3_000_000, 1.5, "packed")


def test_without_a_folder_it_is_not_made_and_says_what_it_costs(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXT)
    edit = replace(EDIT, where=Where(str(script), 5), dest=None)
    patch = plan([finding(edit)], roots=[tmp_path])
    assert not patch
    (declined,) = patch.declined
    assert declined.kind == "packs"
    assert declined.reason == "the first run writes about 3.00 MB in 1.50 s; --pack DEST makes it"
    assert why_not(TEXT, replace(EDIT, dest=None)) == "no folder was named for the data"


def test_without_a_folder_it_takes_no_other_cures_place() -> None:
    stores = finding(EDIT, gain=9.0, saves={"input_wait": 8 * MS}, rule="IN011")
    caches = finding(AppendCall(at(5), "batch", ".cache()"), gain=8.0, saves={"input_wait": 8 * MS})
    whole = diagnosis(stores, caches, parts={"input_wait": 9 * MS, "step": 1 * MS})
    chosen, left_out = choose(whole)
    assert chosen == [stores, caches]
    assert not left_out
    chosen, left_out = choose(whole, packs=True)
    assert chosen == [stores]
    assert [one.finding for one in left_out] == [caches]


def test_with_a_folder_no_plan_of_the_pipeline_takes_its_place() -> None:
    stores = finding(EDIT, gain=3.0, saves={"input_wait": 6 * MS}, rule="IN011")
    caches = finding(AppendCall(at(5), "batch", ".cache()"), gain=8.0, rule="plan")
    whole = diagnosis(stores, parts={"input_wait": 9 * MS, "step": 1 * MS})
    (workload,) = whole.workloads
    planned = replace(whole, workloads=(replace(workload, input_plan=caches),))
    assert choose(planned)[0][0] == caches
    assert choose(planned, packs=True)[0] == [stores]


def test_an_unsafe_one_needs_both_words(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXT)
    cure = finding(replace(EDIT, where=Where(str(script), 5)), safety="unsafe")
    assert plan([cure], roots=[tmp_path], pack="packed").declined[0].kind == "unsafe"
    assert plan([cure], roots=[tmp_path], unsafe=True).declined[0].kind == "packs"
    assert plan([cure], roots=[tmp_path], unsafe=True, pack="packed")


def test_the_pipeline_goes_on_with_what_was_stored() -> None:
    assert after(TEXT, EDIT) == TEXT.replace("as tf\n", "as tf\nimport fitdoctor\n").replace(
        "(paths)", '(paths).apply(fitdoctor.packed("packed"))'
    )


def test_the_files_own_name_is_kept() -> None:
    text = TEXT.replace("import tensorflow as tf", "import fitdoctor as fd, tensorflow as tf")
    assert '.apply(fd.packed("packed")).batch(32)' in after(text, EDIT)


@pytest.mark.parametrize("dest", ['a"b', "a\\b", "a\nb", "naïve dir", "it's"])
def test_any_folder_can_be_named(dest: str) -> None:
    changed = after(TEXT, replace(EDIT, dest=dest))
    found: list[str] = []

    class Fitdoctor:
        packed = staticmethod(found.append)

    class Chain:
        def __getattr__(self, name: str) -> object:
            return lambda *args: self

    code = changed.replace("import fitdoctor\n", "").replace("import tensorflow as tf\n", "")
    tf = type("tf", (), {"data": Chain()})
    exec(compile(code, "train.py", "exec"), {"tf": tf, "fitdoctor": Fitdoctor, "paths": []})
    assert found == [dest]


def test_what_is_there_is_not_put_there_again() -> None:
    assert is_there(after(TEXT, EDIT), replace(EDIT, where=at(6)))
