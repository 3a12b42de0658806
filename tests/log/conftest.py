"""Fixtures of the log tests."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.log.log_harness import Logs


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()
