"""Fixtures of the log tests."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Iterator

import pytest

from tests.log.log_harness import Logs

MEMORY = pathlib.Path("/dev/shm")


@pytest.fixture
def tmp_path(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A directory in memory where the system has such: these tests make, sync and delete some 50,000 files."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="kafka-py-", dir=MEMORY) as directory:
        yield pathlib.Path(directory)


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()
