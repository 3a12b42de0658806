"""ClusterConnectionStates, InFlightRequests and NodeApiVersions by themselves."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.clients.cluster_connection_states import LONG_MAX, ClusterConnectionStates
from kafka_py.clients.connection_state import ConnectionState
from kafka_py.clients.in_flight_requests import InFlightRequest, InFlightRequests
from kafka_py.clients.node_api_versions import NodeApiVersions
from kafka_py.common.errors import AuthenticationException, IllegalStateException, UnsupportedVersionException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse


@pytest.fixture
def states() -> ClusterConnectionStates:
    return ClusterConnectionStates(10_000, 60_000)


@pytest.mark.ported("ClusterConnectionStatesTest.testClusterConnectionStateChanges")
def test_the_states_of_a_connection(states: ClusterConnectionStates) -> None:
    assert states.can_connect("1", 0)
    states.connecting("1", 0)
    assert states.connection_state("1") is ConnectionState.CONNECTING
    assert states.is_connecting("1")
    assert not states.can_connect("1", 0)
    states.checking_api_versions("1")
    assert states.connection_state("1") is ConnectionState.CHECKING_API_VERSIONS
    states.ready("1")
    assert states.is_ready("1")
    assert states.has_ready_nodes()
    states.disconnected("1", 100)
    assert states.is_disconnected("1")
    assert states.is_blacked_out("1", 100)
    assert not states.can_connect("1", 100)
    assert states.can_connect("1", 100 + 12_000)
    states.remove("1")
    assert states.can_connect("1", 100)
    with pytest.raises(IllegalStateException, match="No entry found for connection 1"):
        states.ready("1")


@pytest.mark.ported("ClusterConnectionStatesTest.testAuthorizationFailed")
def test_an_authentication_failure_is_a_disconnect_with_a_reason(states: ClusterConnectionStates) -> None:
    states.connecting("1", 0)
    failure = AuthenticationException("injected")
    states.authentication_failed("1", 100, failure)
    assert states.is_disconnected("1")
    assert states.authentication_exception("1") is failure
    assert states.authentication_exception("2") is None


@pytest.mark.ported("ClusterConnectionStatesTest.testExponentialReconnectBackoff")
def test_the_backoff_doubles_up_to_its_maximum(states: ClusterConnectionStates) -> None:
    states.connecting("1", 0)
    for attempt in range(8):
        states.disconnected("1", 0)
        expected = min(10_000 * 2**attempt, 60_000)
        assert 0.79 * expected <= states.connection_delay("1", 0) <= 1.21 * expected
        states.connecting("1", 0)
        assert states.connection_delay("1", 0) == LONG_MAX
    states.ready("1")
    states.disconnected("1", 0)
    assert states.connection_delay("1", 0) <= 12_000


def test_without_backoff_the_next_attempt_is_at_once() -> None:
    states = ClusterConnectionStates(0, 0)
    states.connecting("1", 5)
    states.disconnected("1", 5)
    assert states.can_connect("1", 5)


class FakeSend:
    def __init__(self, node: str, done: bool = True) -> None:
        self.node, self.done = node, done

    def destination(self) -> str:
        return self.node

    def completed(self) -> bool:
        return self.done


def in_flight(node: str, sent_at: int = 0, done: bool = True, expect_response: bool = True) -> InFlightRequest:
    send = cast("Any", FakeSend(node, done))
    return InFlightRequest(cast("Any", None), 0, node, None, expect_response, False, cast("Any", None), send, sent_at)


@pytest.mark.ported("InFlightRequestsTest.testCompleteNext / testCompleteLastSent / testClearAll")
def test_requests_end_in_the_order_of_their_answers() -> None:
    requests = InFlightRequests(3)
    one, two, three = (in_flight("a", i) for i in (1, 2, 3))
    for request in (one, two, three):
        requests.add(request)
    other = in_flight("b", 4)
    requests.add(other)
    assert (requests.count(), requests.count("a"), requests.count("c")) == (4, 3, 0)
    assert not requests.can_send_more("a")
    assert requests.can_send_more("b")
    assert requests.last_sent("a") is three
    assert requests.complete_next("a") is one
    assert requests.can_send_more("a")
    assert requests.complete_last_sent("a") is three
    assert requests.get_nodes_with_timed_out_requests(1004, 1000) == ["a"]
    assert requests.clear_all("a") == [two]
    assert requests.clear_all("a") == []
    assert requests.count() == 1
    assert requests.is_empty("a")
    assert not requests.is_empty()
    with pytest.raises(IllegalStateException, match="There are no in-flight requests for node a"):
        requests.complete_next("a")


def test_a_finished_send_ends_its_own_request_only() -> None:
    requests = InFlightRequests(5)
    silent, answered = in_flight("a", expect_response=False), in_flight("a")
    requests.add(silent)
    requests.add(answered)
    assert requests.complete_send(answered.send) is None
    assert requests.complete_send(silent.send) is silent
    assert requests.complete_send(silent.send) is None
    assert requests.count() == 1


def test_a_send_that_is_under_way_blocks_the_next() -> None:
    requests = InFlightRequests(5)
    requests.add(in_flight("a", done=False))
    assert not requests.can_send_more("a")


@pytest.mark.ported("NodeApiVersionsTest.testLatestUsableVersion*")
def test_the_latest_version_of_both() -> None:
    def node(low: int, high: int) -> NodeApiVersions:
        return NodeApiVersions([ApiVersionsResponse.ApiVersion(ApiKeys.PRODUCE.id, low, high)])

    assert node(0, 2).latest_usable_version(ApiKeys.PRODUCE) == 2
    assert node(1, 100).latest_usable_version(ApiKeys.PRODUCE, 0, 3) == 3
    latest = ApiKeys.PRODUCE.latest_version()
    assert node(0, 1000).latest_usable_version(ApiKeys.PRODUCE) == latest
    with pytest.raises(
        UnsupportedVersionException, match=r"with version in range \[3,4\]. The supported range is \[0,2\]"
    ):
        node(0, 2).latest_usable_version(ApiKeys.PRODUCE, 3, 4)
    with pytest.raises(UnsupportedVersionException, match="The broker does not support FETCH"):
        node(0, 2).latest_usable_version(ApiKeys.FETCH)


@pytest.mark.ported("NodeApiVersionsTest.testUnsupportedVersionsToString / testUnknownApiVersionsToString")
def test_printed_with_what_is_usable() -> None:
    versions = NodeApiVersions(
        [
            ApiVersionsResponse.ApiVersion(ApiKeys.METADATA.id, 0, 0),
            ApiVersionsResponse.ApiVersion(ApiKeys.FETCH.id, 1000, 1001),
            ApiVersionsResponse.ApiVersion(337, 0, 1),
        ]
    )
    text = repr(versions)
    assert "Metadata(3): 0 [usable: 0]" in text
    assert "Fetch(1): 1000 to 1001 [unusable: node too new]" in text
    assert "UNKNOWN(337): 0 to 1" in text
    assert "Produce(0): UNSUPPORTED" in text
    assert versions.api_version(ApiKeys.METADATA) == ApiVersionsResponse.ApiVersion(ApiKeys.METADATA.id, 0, 0)
