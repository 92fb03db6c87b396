"""`fitdoctor scale`: wrong use."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from fitdoctor.cli.scale import command


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--apply"], "--apply writes the edit for a service"),
        (["--service", "localhost"], "--service 'localhost'"),
        (["--service", 'grpc://x:1"); import os; ("'], "--service"),
        (["missing.rec"], "there is no recording missing.rec"),
    ],
)
def test_wrong_use_is_refused(
    args: list[str], said: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    result = CliRunner().invoke(command, args)
    assert result.exception is not None
    assert said in str(result.exception)
