"""Quotas on their way from ZooKeeper's configs to their managers, which say that they do not enforce them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.security.credential_provider import CredentialProvider
from kafka_py.server.config_handler import ClientIdConfigHandler, UserConfigHandler
from kafka_py.server.quota_factory import QuotaFactory, QuotaManagers
from kafka_py.testing.mock_time import MockTime
from tests.server.kafka_apis_support import kafka_config


@pytest.fixture
def quotas() -> Iterator[QuotaManagers]:
    time: Any = MockTime()
    metrics = Metrics(time=time)
    yield QuotaFactory.instantiate(kafka_config(), metrics, time)
    metrics.close()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    caplog.clear()
    return found


def test_a_client_ids_quota_is_warned_of_once_for_each_value(
    quotas: QuotaManagers, caplog: pytest.LogCaptureFixture
) -> None:
    handler = ClientIdConfigHandler(quotas)
    handler.process_config_changes("c%2A1", {"producer_byte_rate": "10", "request_percentage": "50.5"})
    assert warnings(caplog) == [
        "The Produce quota for client-id c*1 is not enforced by this version.",
        "The Request quota for client-id c*1 is not enforced by this version.",
    ]
    handler.process_config_changes("c%2A1", {"producer_byte_rate": "10", "request_percentage": "60"})
    assert warnings(caplog) == ["The Request quota for client-id c*1 is not enforced by this version."]
    handler.process_config_changes("c%2A1", {})
    assert warnings(caplog) == []
    handler.process_config_changes("c%2A1", {"producer_byte_rate": "10"})
    assert warnings(caplog) == ["The Produce quota for client-id c*1 is not enforced by this version."]


@pytest.mark.parametrize(
    ("path", "whose"),
    [
        ("u", "user u "),
        ("<default>", "default user "),
        ("u/clients/c", "user u client-id c"),
        ("<default>/clients/<default>", "default user default client-id"),
    ],
)
def test_a_users_quota(quotas: QuotaManagers, caplog: pytest.LogCaptureFixture, path: str, whose: str) -> None:
    handler = UserConfigHandler(quotas, CredentialProvider([]))
    caplog.set_level("INFO")
    handler.process_config_changes(path, {"consumer_byte_rate": "10"})
    handler.process_config_changes(path, {})
    assert [record.getMessage() for record in caplog.records if "quota for" in record.getMessage()] == [
        f"Changing Fetch quota for {whose} to 10.0",
        f"The Fetch quota for {whose} is not enforced by this version.",
        f"Removing Fetch quota for {whose}",
    ]


def test_a_path_that_is_no_user(quotas: QuotaManagers) -> None:
    with pytest.raises(IllegalArgumentException, match="Invalid quota entity path: u/clients"):
        UserConfigHandler(quotas, CredentialProvider([])).process_config_changes("u/clients", {})


def test_a_users_credentials_are_taken_over(quotas: QuotaManagers, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, dict[str, str]]] = []
    provider = CredentialProvider([])
    monkeypatch.setattr(provider, "update_credentials", lambda user, config: told.append((user, dict(config))))
    handler = UserConfigHandler(quotas, provider)
    for path in ("u%40h", "<default>", "u/clients/c"):
        handler.process_config_changes(path, {"SCRAM-SHA-256": "x"})
    assert told == [("u@h", {"SCRAM-SHA-256": "x"})]
