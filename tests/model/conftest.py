"""A model for a test, in memory."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.model.interleavings import Run


@pytest.fixture
def new_model(tmp_path: pathlib.Path) -> Iterator[Callable[..., Run]]:
    """Makes models, with the inter-broker protocol as an argument; they are closed after the test."""
    runs: list[Run] = []

    def make(protocol: str = "2.5") -> Run:
        directory = tmp_path / str(len(runs))
        directory.mkdir()
        runs.append(Run(directory, protocol=protocol))
        return runs[-1]

    yield make
    for run in runs:
        run.model.close()
