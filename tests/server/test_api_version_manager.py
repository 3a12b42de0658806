"""Ranges of versions follow from the handlers."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.server.api_version_manager import BROKER_VERSIONS, SimpleApiVersionManager, ranges_at
from kafka_py.server.kafka_apis import KafkaApis
from tests.common.protocol.test_schemas import SCHEMAS_1_1_1


class Handler(NamedTuple):
    """A line of the table."""

    min_version: int
    max_version: int


@pytest.fixture
def manager() -> SimpleApiVersionManager:
    handlers = {ApiKeys.API_VERSIONS: Handler(0, 3), ApiKeys.PRODUCE: Handler(2, 7)}
    return SimpleApiVersionManager("broker", handlers)


@pytest.mark.ported("ApiVersionManagerTest.testApiScope", changes="a table of handlers instead of a listener's scope")
def test_response_lists_the_handlers(manager: SimpleApiVersionManager) -> None:
    response = manager.api_version_response(5)
    assert (response.throttle_time_ms, response.error()) == (5, Errors.NONE)
    offered = [(v.api_key, v.min_version, v.max_version) for v in response.api_versions]
    assert offered == [(0, 2, 7), (18, 0, 3)]
    assert manager.enabled_apis == [ApiKeys.PRODUCE, ApiKeys.API_VERSIONS]
    assert manager.listener_type == "broker"


def test_only_what_is_handled_is_let_in(manager: SimpleApiVersionManager) -> None:
    assert [manager.is_api_enabled(ApiKeys.PRODUCE, v) for v in (1, 2, 7, 8)] == [False, True, True, False]
    assert not manager.is_api_enabled(ApiKeys.FETCH, 0)
    assert not manager.is_api_enabled(None, 0)


def test_what_brokers_send_each_other_is_let_in_and_not_offered() -> None:
    manager = SimpleApiVersionManager("broker", KafkaApis.HANDLERS)
    key = ApiKeys.ADD_PARTITIONS_TO_TXN
    assert [manager.is_api_enabled(key, v) for v in range(6)] == [True, True, False, False, True, False]
    [offered] = [v for v in manager.api_version_response(0).api_versions if v.api_key == key.id]
    assert (offered.min_version, offered.max_version) == (0, 1)


def test_brokers_understand_each_other_whatever_is_offered_to_clients() -> None:
    """The controller and the followers ask nobody which versions there are."""
    manager = SimpleApiVersionManager("broker", ranges_at("1.1.1", KafkaApis.HANDLERS))
    for key, versions in BROKER_VERSIONS.items():
        assert manager.is_api_enabled(key, versions[-1])
        assert KafkaApis.HANDLERS[key].min_version <= versions[0]
        assert key is ApiKeys.ADD_PARTITIONS_TO_TXN or KafkaApis.HANDLERS[key].max_version == versions[-1]
        [offered] = [v for v in manager.api_version_response(0).api_versions if v.api_key == key.id]
        assert offered.max_version < versions[0]


def test_any_version_of_api_versions_is_let_in(manager: SimpleApiVersionManager) -> None:
    assert manager.is_api_enabled(ApiKeys.API_VERSIONS, 99)


def test_metrics_of_the_enabled_apis(manager: SimpleApiVersionManager) -> None:
    assert manager.new_request_metrics().apply("Produce") is not None


def test_the_level_of_1_1_1_has_its_versions_and_no_other() -> None:
    latest = {ApiKeys.API_VERSIONS.id: 3}  # asked before anybody knows of levels
    for name in SCHEMAS_1_1_1:
        key_id, _, version, _ = name.split(".")
        latest[int(key_id)] = max(latest.get(int(key_id), 0), int(version[1:]))
    offered = ranges_at("1.1.1", KafkaApis.HANDLERS)
    assert {key.id for key in offered} == {key.id for key in KafkaApis.HANDLERS if key.id in latest}
    for key, versions in offered.items():
        served = KafkaApis.HANDLERS[key].max_version
        assert (versions.min_version, versions.max_version) == (0, min(latest[key.id], served))
    assert ranges_at("2.5.1", KafkaApis.HANDLERS) == KafkaApis.HANDLERS
