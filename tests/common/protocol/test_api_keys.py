"""The keys of the protocol."""

from __future__ import annotations

import pickle
import sys
from types import FrameType
from typing import Any

import pytest

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from tests.common.protocol.golden import golden


def test_the_keys_in_the_order_of_their_ids() -> None:
    assert [key.id for key in ApiKeys.values()] == [*range(44), 45, 46, 47]
    assert ApiKeys.MAX_API_KEY == 47
    assert ApiKeys.for_id(23) is ApiKeys.OFFSET_FOR_LEADER_EPOCH
    assert (str(ApiKeys.LIST_OFFSETS), ApiKeys.LIST_OFFSETS.name) == ("LIST_OFFSETS", "ListOffsets")


def test_no_other_thread_sees_header_versions_that_are_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads may load a key at once; after each line of the one the other must find an answer or none."""
    key = ApiKeys.API_VERSIONS
    assert key.response_header_version(3) == 0  # it is loaded, and what the test sets is set back
    seen = set()

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code is ApiKeys._load.__code__:
            seen.add(tuple(key._response_header_versions))
            return trace
        return None

    monkeypatch.setattr(key, "_response_header_versions", [])
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        key._load()
    finally:
        sys.settrace(before)
    assert seen == {(), (0, 0, 0, 0)}


@pytest.mark.ported("ApiKeysTest.testForIdWithInvalidIdLow")
@pytest.mark.ported("ApiKeysTest.testForIdWithInvalidIdHigh")
@pytest.mark.parametrize("id_", [-1, 44, 10000])
def test_unknown_id(id_: int) -> None:
    assert not ApiKeys.has_id(id_)
    with pytest.raises(ValueError, match=f"Unexpected ApiKeys id `{id_}`, it should be between `0` and `47`"):
        ApiKeys.for_id(id_)


@pytest.mark.ported("ApiKeysTest.schemaVersionOutOfRange")
@pytest.mark.parametrize("version", [-1, 9])
def test_unknown_version(version: int) -> None:
    assert not ApiKeys.PRODUCE.is_version_supported(version)
    with pytest.raises(ValueError, match=f"Invalid version for API key PRODUCE: {version}"):
        ApiKeys.PRODUCE.request_schema(version)


def test_cluster_actions_and_magic() -> None:
    actions = {key.id for key in ApiKeys.values() if key.cluster_action}
    assert actions == {4, 5, 6, 7, 27}
    assert {key.id for key in ApiKeys.values() if key.min_required_inter_broker_magic == 2} == {24, 25, 26, 27, 28}


def test_requests_that_keep_their_buffer() -> None:
    keeping = {key.name for key in ApiKeys.values() if key.requires_delayed_allocation}
    assert keeping == {
        "Produce",
        "JoinGroup",
        "SyncGroup",
        "SaslAuthenticate",
        "RenewDelegationToken",
        "ExpireDelegationToken",
    }


def test_header_versions() -> None:
    assert ApiKeys.CONTROLLED_SHUTDOWN.request_header_version(0) == 0
    assert ApiKeys.CONTROLLED_SHUTDOWN.request_header_version(1) == 1
    assert [ApiKeys.API_VERSIONS.request_header_version(v) for v in (0, 2, 3, 99)] == [1, 1, 2, 1]
    assert [ApiKeys.API_VERSIONS.response_header_version(v) for v in (0, 3, 99)] == [0, 0, 0]
    assert ApiKeys.PRODUCE.request_header_version(7) == 1


def test_response_header_of_golden_frames() -> None:
    for message in golden():
        if not message.is_request:
            tags = len(message.frame) - 4 - len(message.body) - 4
            assert tags == (message.schema.is_flexible and message.key is not ApiKeys.API_VERSIONS), message.id
            if message.key.is_version_supported(message.version):
                assert message.key.response_header_version(message.version) == tags, message.id


def test_response_of_a_broker_that_lacks_the_version() -> None:
    version_0 = b"\x00\x23\x00\x00\x00\x01\x00\x12\x00\x00\x00\x01"
    response = ApiVersionsResponse.parse(version_0, 3)
    assert response.error() is Errors.UNSUPPORTED_VERSION
    assert response.api_versions[0].max_version == 1


def test_copies_are_the_same_object() -> None:
    assert pickle.loads(pickle.dumps(ApiKeys.FETCH)) is ApiKeys.FETCH
