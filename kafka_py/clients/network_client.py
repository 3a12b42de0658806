"""Requests to other brokers over one selector, without blocking.

Mirrors: clients/src/main/java/org/apache/kafka/clients/NetworkClient.java @ 1.1.1
Read next: clients/network_client_utils.py (the blocking way), common/network/selector.py
"""

from __future__ import annotations

import enum
import random
from typing import TYPE_CHECKING

from kafka_py.clients.client_request import ClientRequest
from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.cluster_connection_states import ClusterConnectionStates
from kafka_py.clients.in_flight_requests import InFlightRequest, InFlightRequests
from kafka_py.clients.kafka_client import KafkaClient
from kafka_py.clients.node_api_versions import NodeApiVersions
from kafka_py.common.errors import DisconnectException, IllegalStateException, UnsupportedVersionException
from kafka_py.common.network.channel_state import ChannelState
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.response_header import ResponseHeader
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.clients.api_versions import ApiVersions
    from kafka_py.clients.metadata_updater import MetadataUpdater
    from kafka_py.clients.request_completion_handler import RequestCompletionHandler
    from kafka_py.common.errors import AuthenticationException
    from kafka_py.common.network.selectable import Selectable
    from kafka_py.common.node import Node
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.request_header import RequestHeader
    from kafka_py.common.utils.time import Time

INT_MAX = 0x7FFFFFFF


class NetworkClient(Logging, KafkaClient):
    """Connects to nodes, sends requests, and matches each response with its request.

    Mirrors: org.apache.kafka.clients.NetworkClient
    Thread: one thread calls everything but wakeup() and initiate_close()
    Differs: can be told to end by another thread, as from 2.1.1 on (initiateClose, KAFKA-7576): 1.1.1 has no way to
        stop one that waits for a silent node.
    Left out: DefaultMetadataUpdater, throttleTimeSensor -- parts of producers and consumers; brokers know their peers
    """

    class State(enum.Enum):
        """Whether it works, works no more, or is closed; never backwards."""

        ACTIVE = "ACTIVE"
        CLOSING = "CLOSING"
        CLOSED = "CLOSED"

    def __init__(
        self,
        selector: Selectable,
        metadata_updater: MetadataUpdater,
        client_id: str,
        max_in_flight_requests_per_connection: int,
        reconnect_backoff_ms: int,
        reconnect_backoff_max: int,
        socket_send_buffer: int,
        socket_receive_buffer: int,
        request_timeout_ms: int,
        time: Time,
        discover_broker_versions: bool,
        api_versions: ApiVersions,
        log_context: str = "",
    ) -> None:
        """Times in ms. With `discover_broker_versions` each connection begins with an ApiVersions request."""
        self._selector = selector
        self._metadata_updater = metadata_updater
        self._client_id = client_id
        self._in_flight_requests = InFlightRequests(max_in_flight_requests_per_connection)
        self._connection_states = ClusterConnectionStates(reconnect_backoff_ms, reconnect_backoff_max)
        self._socket_send_buffer = socket_send_buffer
        self._socket_receive_buffer = socket_receive_buffer
        self._correlation = 0  # thread: of its owner
        self._rand_offset = random.Random()
        self._request_timeout_ms = request_timeout_ms
        self._reconnect_backoff_ms = reconnect_backoff_ms
        self._time = time
        self._discover_broker_versions = discover_broker_versions
        self._api_versions = api_versions
        self._nodes_needing_api_versions_fetch: dict[str, ApiVersionsRequest.Builder] = {}
        self._aborted_sends: list[ClientResponse] = []
        self.log_ident = log_context
        self._state = NetworkClient.State.ACTIVE  # volatile: whoever ends it

    def discover_broker_versions(self) -> bool:
        """Whether connections begin with an ApiVersions request."""
        return self._discover_broker_versions

    # ---- connections

    def ready(self, node: Node, now: int) -> bool:
        """Whether a request may be sent; begins to connect if not. ValueError for a placeholder."""
        if node.is_empty():
            raise ValueError(f"Cannot connect to empty node {node}")
        if self.is_ready(node, now):
            return True
        if self._connection_states.can_connect(node.id_string(), now):
            self._initiate_connect(node, now)
        return False

    def can_connect(self, node: Node, now: int) -> bool:
        """Whether a connect may be tried now. For tests."""
        return self._connection_states.can_connect(node.id_string(), now)

    def disconnect(self, node_id: str) -> None:
        """Drop the connection; its requests end as disconnected with the next poll."""
        if self._connection_states.is_disconnected(node_id):
            return
        self._selector.close(node_id)
        request_types: list[ApiKeys] = []
        now = self._time.milliseconds()
        for request in self._in_flight_requests.clear_all(node_id):
            if request.is_internal_request:
                if request.header.api_key is ApiKeys.METADATA:
                    self._metadata_updater.handle_disconnection(request.destination)
            else:
                request_types.append(request.header.api_key)
                self._aborted_sends.append(request.disconnected(now))
        self._connection_states.disconnected(node_id, now)
        self.debug("Manually disconnected from %s. Removed requests: %s.", node_id, request_types)

    def close(self, node_id: str | None = None) -> None:
        """Close one connection, or without an id the selector; no callback hears of the requests."""
        if node_id is None:
            self._state = NetworkClient.State.CLOSED
            self._selector.close()
            return
        self._selector.close(node_id)
        for request in self._in_flight_requests.clear_all(node_id):
            if request.is_internal_request and request.header.api_key is ApiKeys.METADATA:
                self._metadata_updater.handle_disconnection(request.destination)
        self._connection_states.remove(node_id)

    def initiate_close(self) -> None:
        """Have the poll under way return, and every later one raise DisconnectException. Any thread."""
        if self._state is NetworkClient.State.ACTIVE:
            self._state = NetworkClient.State.CLOSING
            self.wakeup()

    def active(self) -> bool:
        """Whether nobody has begun to close it."""
        return self._state is NetworkClient.State.ACTIVE

    def _ensure_active(self) -> None:
        if self._state is not NetworkClient.State.ACTIVE:
            raise DisconnectException(f"NetworkClient is no longer active, state is {self._state.value}")

    def connection_delay(self, node: Node, now: int) -> int:
        """ms until a connect may be tried; LONG_MAX while connecting or connected."""
        return self._connection_states.connection_delay(node.id_string(), now)

    def connection_failed(self, node: Node) -> bool:
        """Whether the connection is gone; ready() tries again."""
        return self._connection_states.is_disconnected(node.id_string())

    def authentication_exception(self, node: Node) -> AuthenticationException | None:
        """Why the node refused us."""
        return self._connection_states.authentication_exception(node.id_string())

    def is_ready(self, node: Node, now: int) -> bool:
        """Whether a request may be sent; no node is ready while a metadata update is due, which goes first."""
        return not self._metadata_updater.is_update_due(now) and self._can_send_request(node.id_string())

    def _can_send_request(self, node: str) -> bool:
        return (
            self._connection_states.is_ready(node)
            and self._selector.is_channel_ready(node)
            and self._in_flight_requests.can_send_more(node)
        )

    def _initiate_connect(self, node: Node, now: int) -> None:
        node_connection_id = node.id_string()
        try:
            self.debug("Initiating connection to node %s", node)
            self._connection_states.connecting(node_connection_id, now)
            self._selector.connect(
                node_connection_id, (node.host, node.port), self._socket_send_buffer, self._socket_receive_buffer
            )
        except OSError as e:
            # tried again after the backoff; perhaps the node has moved
            self._connection_states.disconnected(node_connection_id, now)
            self._metadata_updater.request_update()
            self.debug("Error connecting to node %s", node, exc=e)

    # ---- sending

    def new_client_request(
        self,
        node_id: str,
        request_builder: AbstractRequest.Builder,
        created_time_ms: int,
        expect_response: bool,
        callback: RequestCompletionHandler | None = None,
    ) -> ClientRequest:
        """A request with the next correlation id."""
        correlation_id = self._correlation
        self._correlation = correlation_id + 1 & INT_MAX
        return ClientRequest(
            node_id, request_builder, correlation_id, self._client_id, created_time_ms, expect_response, callback
        )

    def send(self, request: ClientRequest, now: int) -> None:
        """Send to a ready node; IllegalStateException if it is not."""
        self._do_send(request, False, now)

    def _do_send(self, client_request: ClientRequest, is_internal_request: bool, now: int) -> None:
        """An internal request may go before the node is ready: it may be the ApiVersions request that makes it so."""
        self._ensure_active()
        node_id = client_request.destination()
        if not is_internal_request and not self._can_send_request(node_id):
            raise IllegalStateException(f"Attempt to send a request to node {node_id} which is not ready.")
        builder = client_request.request_builder()
        try:
            version_info = self._api_versions.get(node_id)
            if version_info is None:
                # asking for versions, or versions are not asked for: the caller knows which one the node has
                version = builder.latest_allowed_version()
                if self._discover_broker_versions:
                    self.trace(
                        "No version information found when sending %s with correlation id %d to node %s. "
                        "Assuming version %d.",
                        client_request.api_key(),
                        client_request.correlation_id(),
                        node_id,
                        version,
                    )
            else:
                version = version_info.latest_usable_version(
                    client_request.api_key(), builder.oldest_allowed_version(), builder.latest_allowed_version()
                )
            # may raise as well, if the request says what that version cannot express
            request = builder.build(version)
        except UnsupportedVersionException as e:
            self.debug(
                "Version mismatch when attempting to send %s with correlation id %d to %s",
                builder,
                client_request.correlation_id(),
                node_id,
                exc=e,
            )
            header = client_request.make_header(builder.latest_allowed_version())
            self._aborted_sends.append(
                ClientResponse(header, client_request.callback(), node_id, now, now, False, e, None)
            )
            return
        self._do_send_request(client_request, is_internal_request, now, request)

    def _do_send_request(
        self, client_request: ClientRequest, is_internal_request: bool, now: int, request: AbstractRequest
    ) -> None:
        node_id = client_request.destination()
        header = client_request.make_header(request.version())
        if self.is_debug_enabled:
            what = (client_request.api_key(), request, client_request.correlation_id(), node_id)
            if header.api_version == client_request.api_key().latest_version():
                self.trace("Sending %s %s with correlation id %d to node %s", *what)
            else:
                self.debug(
                    "Using older server API v%d to send %s %s with correlation id %d to node %s",
                    header.api_version,
                    *what,
                )
        send = request.to_send(node_id, header)
        self._in_flight_requests.add(
            InFlightRequest(
                header,
                client_request.created_time_ms(),
                node_id,
                client_request.callback(),
                client_request.expect_response(),
                is_internal_request,
                request,
                send,
                now,
            )
        )
        self._selector.send(send)

    # ---- polling

    def poll(self, timeout: int, now: int) -> list[ClientResponse]:
        """Do I/O for up to `timeout` ms; the requests that ended, whose callbacks have been called.

        DisconnectException when the client is being closed.
        """
        self._ensure_active()
        responses: list[ClientResponse] = []
        if self._aborted_sends:
            # known without looking at the network
            responses += self._aborted_sends
            self._aborted_sends.clear()
            self._complete_responses(responses)
            return responses
        metadata_timeout = self._metadata_updater.maybe_update(now)
        try:
            self._selector.poll(min(timeout, metadata_timeout, self._request_timeout_ms))
        except OSError as e:
            self.error("Unexpected error during I/O", exc=e)
        updated_now = self._time.milliseconds()
        self._handle_completed_sends(responses, updated_now)
        self._handle_completed_receives(responses, updated_now)
        self._handle_disconnections(responses, updated_now)
        self._handle_connections()
        self._handle_initiate_api_version_requests(updated_now)
        self._handle_timed_out_requests(responses, updated_now)
        self._complete_responses(responses)
        return responses

    def _complete_responses(self, responses: list[ClientResponse]) -> None:
        for response in responses:
            try:
                response.on_complete()
            except Exception as e:  # noqa: BLE001  a callback's fault must not cost the others their response
                self.error("Uncaught error in request completion:", exc=e)

    def _handle_completed_sends(self, responses: list[ClientResponse], now: int) -> None:
        """A request without an answer ends with its send."""
        for send in self._selector.completed_sends():
            request = self._in_flight_requests.complete_send(send)
            if request is not None:
                responses.append(request.completed(None, now))

    def _handle_completed_receives(self, responses: list[ClientResponse], now: int) -> None:
        for receive in self._selector.completed_receives():
            request = self._in_flight_requests.complete_next(receive.source())
            body = self.parse_response(receive.payload(), request.header)
            if self.is_trace_enabled:
                self.trace(
                    "Completed receive from node %s for %s with correlation id %d, received %s",
                    request.destination,
                    request.header.api_key,
                    request.header.correlation_id,
                    body.to_string(request.header.api_version),
                )
            if request.is_internal_request and isinstance(body, MetadataResponse):
                self._metadata_updater.handle_completed_metadata_response(request.header, now, body)
            elif request.is_internal_request and isinstance(body, ApiVersionsResponse):
                self._handle_api_versions_response(responses, request, now, body)
            else:
                responses.append(request.completed(body, now))

    @staticmethod
    def parse_response(response_buffer: memoryview | bytes | None, request_header: RequestHeader) -> AbstractResponse:
        """The body of a message that answers that request; IllegalStateException if it answers another."""
        view = memoryview(response_buffer if response_buffer is not None else b"")
        api_key, version = request_header.api_key, request_header.api_version
        response_header = ResponseHeader.parse(view, api_key.response_header_version(version))
        if request_header.correlation_id != response_header.correlation_id():
            raise IllegalStateException(
                f"Correlation id for response ({response_header.correlation_id()}) does not match request "
                f"({request_header.correlation_id}), request header: {request_header}"
            )
        body: AbstractResponse = api_key.response_class().parse(view[response_header.size_of() :], version)
        return body

    def _handle_api_versions_response(
        self, responses: list[ClientResponse], request: InFlightRequest, now: int, body: ApiVersionsResponse
    ) -> None:
        node = request.destination
        if body.error() is not Errors.NONE:
            if request.request.version() == 0 or body.error() is not Errors.UNSUPPORTED_VERSION:
                self.warn(
                    "Received error %s from node %s when making an ApiVersionsRequest with correlation id %d. "
                    "Disconnecting.",
                    body.error(),
                    node,
                    request.header.correlation_id,
                )
                self._selector.close(node)
                self._process_disconnection(responses, node, now, ChannelState.LOCAL_CLOSE)
            else:
                self._nodes_needing_api_versions_fetch[node] = ApiVersionsRequest.Builder(0)
            return
        node_version_info = NodeApiVersions(body.api_versions)
        self._api_versions.update(node, node_version_info)
        self._connection_states.ready(node)
        self.debug("Recorded API versions for node %s: %s", node, node_version_info)

    def _handle_disconnections(self, responses: list[ClientResponse], now: int) -> None:
        disconnected = self._selector.disconnected()
        for node, state in list(disconnected.items()):
            self.debug("Node %s disconnected.", node)
            self._process_disconnection(responses, node, now, state)
        if disconnected:
            # perhaps that node is dead or has moved
            self._metadata_updater.request_update()

    def _process_disconnection(
        self, responses: list[ClientResponse], node_id: str, now: int, disconnect_state: ChannelState
    ) -> None:
        self._connection_states.disconnected(node_id, now)
        self._api_versions.remove(node_id)
        self._nodes_needing_api_versions_fetch.pop(node_id, None)
        state = disconnect_state.state()
        if state is ChannelState.State.AUTHENTICATION_FAILED:
            self._connection_states.authentication_failed(node_id, now, disconnect_state.exception())
            self.error("Connection to node %s failed authentication due to: %s", node_id, disconnect_state.exception())
        elif state is ChannelState.State.AUTHENTICATE:
            # old brokers close without a word when authentication fails
            self.warn(
                "Connection to node %s terminated during authentication. This may indicate that authentication failed "
                "due to invalid credentials.",
                node_id,
            )
        elif state is ChannelState.State.NOT_CONNECTED:
            self.warn("Connection to node %s could not be established. Broker may not be available.", node_id)
        for request in self._in_flight_requests.clear_all(node_id):
            self.trace(
                "Cancelled request %s %s with correlation id %d due to node %s being disconnected",
                request.header.api_key,
                request.request,
                request.header.correlation_id,
                node_id,
            )
            if not request.is_internal_request:
                responses.append(request.disconnected(now))
            elif request.header.api_key is ApiKeys.METADATA:
                self._metadata_updater.handle_disconnection(request.destination)
        authentication_exception = self._connection_states.authentication_exception(node_id)
        if authentication_exception is not None:
            self._metadata_updater.handle_authentication_failure(authentication_exception)

    def _handle_connections(self) -> None:
        """A new connection is ready, or has to ask for versions first; TLS and SASL may take longer still."""
        for node in self._selector.connected():
            if self._discover_broker_versions:
                self._connection_states.checking_api_versions(node)
                self._nodes_needing_api_versions_fetch[node] = ApiVersionsRequest.Builder()
                self.debug("Completed connection to node %s. Fetching API versions.", node)
            else:
                self._connection_states.ready(node)
                self.debug("Completed connection to node %s. Ready.", node)

    def _handle_initiate_api_version_requests(self, now: int) -> None:
        for node, builder in list(self._nodes_needing_api_versions_fetch.items()):
            if self._selector.is_channel_ready(node) and self._in_flight_requests.can_send_more(node):
                self.debug("Initiating API versions fetch from node %s.", node)
                self._do_send(self.new_client_request(node, builder, now, True), True, now)
                del self._nodes_needing_api_versions_fetch[node]

    def _handle_timed_out_requests(self, responses: list[ClientResponse], now: int) -> None:
        """A node that does not answer in time loses its connection: what it answers later cannot be told apart."""
        node_ids = self._in_flight_requests.get_nodes_with_timed_out_requests(now, self._request_timeout_ms)
        for node_id in node_ids:
            self._selector.close(node_id)
            self.debug("Disconnecting from node %s due to request timeout.", node_id)
            self._process_disconnection(responses, node_id, now, ChannelState.LOCAL_CLOSE)
        if node_ids:
            self._metadata_updater.request_update()

    # ---- asking

    def in_flight_request_count(self, node_id: str | None = None) -> int:
        """Requests without an answer, of one node or of all."""
        return self._in_flight_requests.count(node_id)

    def has_in_flight_requests(self, node_id: str | None = None) -> bool:
        """Whether there are any, of one node or of all."""
        return not self._in_flight_requests.is_empty(node_id)

    def has_ready_nodes(self) -> bool:
        """Whether requests may be sent to some node."""
        return self._connection_states.has_ready_nodes()

    def wakeup(self) -> None:
        """Make a poll that sleeps, or the next one, return at once. Any thread."""
        self._selector.wakeup()

    def least_loaded_node(self, now: int) -> Node | None:
        """A connected node with nothing in flight if there is one, else the one with the fewest; None if all failed."""
        nodes = self._metadata_updater.fetch_nodes()
        in_flight = INT_MAX
        found: Node | None = None
        offset = self._rand_offset.randrange(len(nodes)) if nodes else 0
        for i in range(len(nodes)):
            node = nodes[(offset + i) % len(nodes)]
            node_id = node.id_string()
            current = self._in_flight_requests.count(node_id)
            if current == 0 and self.is_ready(node, now):
                self.trace("Found least loaded node %s connected with no in-flight requests", node)
                return node
            if not self._connection_states.is_blacked_out(node_id, now) and current < in_flight:
                in_flight = current
                found = node
            else:
                self.trace(
                    "Removing node %s from least loaded node selection: is-blacked-out: %s, in-flight-requests: %d",
                    node,
                    self._connection_states.is_blacked_out(node_id, now),
                    current,
                )
        if found is not None:
            self.trace("Found least loaded node %s", found)
        else:
            self.trace("Least loaded node selection failed to find an available node")
        return found
