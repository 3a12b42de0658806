"""What several tests of the server package use."""

from __future__ import annotations

import functools

import pytest

from kafka_py.server import admin_manager
from kafka_py.server.delayed_operation import DelayedOperationPurgatory


@pytest.fixture
def no_reaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing expires in an AdminManager, which ends without waiting for its reaper's turn (200 ms)."""
    without = functools.partial(DelayedOperationPurgatory, reaper_enabled=False)
    monkeypatch.setattr(admin_manager, "DelayedOperationPurgatory", without)
