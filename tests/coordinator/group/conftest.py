"""A coordinator for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.coordinator.group.coordinator_support import Rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()
