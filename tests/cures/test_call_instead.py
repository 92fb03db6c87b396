"""Another function with the same arguments."""

from __future__ import annotations

from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import FITDOCTOR, CallInstead

EDIT = CallInstead(at(2), "from_generator", "fitdoctor.from_generator", (FITDOCTOR,))


def test_declined_where_the_call_is_not() -> None:
    assert why_not("x = 1\ny = 2\n", EDIT) == "no call of from_generator() was found at line 2"


def test_only_the_name_changes_and_the_import_comes() -> None:
    text = (
        "import tensorflow as tf\n"
        "data = tf.data.Dataset.from_generator(\n"
        "    rows,  # one by one\n"
        "    output_signature=spec,\n"
        ").batch(32)\n"
    )
    changed = after(text, EDIT)
    assert changed == (
        "import tensorflow as tf\n"
        "import fitdoctor\n"
        "data = fitdoctor.from_generator(\n"
        "    rows,  # one by one\n"
        "    output_signature=spec,\n"
        ").batch(32)\n"
    )


def test_the_files_own_name_of_the_library_is_used() -> None:
    text = "import fitdoctor as fd\ndata = tf.data.Dataset.from_generator(rows)\n"
    assert after(text, EDIT).endswith("data = fd.from_generator(rows)\n")
    assert is_there("import fitdoctor\nd = fitdoctor.from_generator(rows)\n", EDIT)
