"""Requests that are being sent or wait for their answer, by node.

Mirrors: clients/src/main/java/org/apache/kafka/clients/InFlightRequests.java @ 1.1.1
         and the InFlightRequest of NetworkClient.java
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.clients.client_response import ClientResponse
from kafka_py.common.errors import IllegalStateException
from kafka_py.utils.concurrent import AtomicInteger

if TYPE_CHECKING:
    from kafka_py.clients.request_completion_handler import RequestCompletionHandler
    from kafka_py.common.network.send import Send
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.request_header import RequestHeader


class InFlightRequest(NamedTuple):
    """One of them; an internal request was made by NetworkClient itself.

    Mirrors: org.apache.kafka.clients.NetworkClient.InFlightRequest
    """

    header: RequestHeader
    created_time_ms: int
    destination: str
    callback: RequestCompletionHandler | None
    expect_response: bool
    is_internal_request: bool
    request: AbstractRequest
    send: Send
    send_time_ms: int

    def completed(self, response: AbstractResponse | None, time_ms: int) -> ClientResponse:
        """Its end with an answer, or with none expected."""
        return ClientResponse(
            self.header, self.callback, self.destination, self.created_time_ms, time_ms, False, None, response
        )

    def disconnected(self, time_ms: int) -> ClientResponse:
        """Its end without an answer."""
        return ClientResponse(
            self.header, self.callback, self.destination, self.created_time_ms, time_ms, True, None, None
        )


class InFlightRequests:
    """A queue for each node, newest request first.

    Mirrors: org.apache.kafka.clients.InFlightRequests
    Thread: the one thread of its NetworkClient; count() may be asked by any
    Differs: a finished send is found by the send itself (`complete_send`), since Selector.send may finish several
        before the next poll reports them; lastSent and completeLastSent, for one at a time, stay for tests
    """

    def __init__(self, max_in_flight_requests_per_connection: int) -> None:
        self._max_in_flight_requests_per_connection = max_in_flight_requests_per_connection
        self._requests: dict[str, deque[InFlightRequest]] = {}
        self._in_flight_request_count = AtomicInteger(0)

    def add(self, request: InFlightRequest) -> None:
        """Add a request that is about to be sent."""
        self._requests.setdefault(request.destination, deque()).appendleft(request)
        self._in_flight_request_count.increment_and_get()

    def _request_queue(self, node: str) -> deque[InFlightRequest]:
        queue = self._requests.get(node)
        if not queue:
            raise IllegalStateException(f"There are no in-flight requests for node {node}")
        return queue

    def complete_next(self, node: str) -> InFlightRequest:
        """Take out the oldest request: answers come in the order of the requests. IllegalStateException if none."""
        request = self._request_queue(node).pop()
        self._in_flight_request_count.decrement_and_get()
        return request

    def last_sent(self, node: str) -> InFlightRequest:
        """The newest request. IllegalStateException if none."""
        return self._request_queue(node)[0]

    def complete_last_sent(self, node: str) -> InFlightRequest:
        """Take out the newest request. IllegalStateException if none."""
        request = self._request_queue(node).popleft()
        self._in_flight_request_count.decrement_and_get()
        return request

    def complete_send(self, send: Send) -> InFlightRequest | None:
        """Take out the request of a finished send if no answer is expected; None if one is, or it was cleared."""
        queue = self._requests.get(send.destination(), ())
        for request in queue:
            if request.send is send:
                if request.expect_response:
                    return None
                self._requests[request.destination].remove(request)
                self._in_flight_request_count.decrement_and_get()
                return request
        return None

    def can_send_more(self, node: str) -> bool:
        """True when the newest request is fully sent and there are fewer than the maximum."""
        queue = self._requests.get(node)
        return not queue or (queue[0].send.completed() and len(queue) < self._max_in_flight_requests_per_connection)

    def count(self, node: str | None = None) -> int:
        """How many there are, of one node or of all."""
        if node is None:
            return self._in_flight_request_count.get()
        return len(self._requests.get(node, ()))

    def is_empty(self, node: str | None = None) -> bool:
        """True when there are none, of one node or of all."""
        if node is None:
            return not any(self._requests.values())
        return not self._requests.get(node)

    def clear_all(self, node: str) -> list[InFlightRequest]:
        """Take out all requests of a node."""
        cleared_requests = self._requests.pop(node, None)
        if cleared_requests is None:
            return []
        self._in_flight_request_count.add_and_get(-len(cleared_requests))
        return list(cleared_requests)

    def get_nodes_with_timed_out_requests(self, now: int, request_timeout_ms: int) -> list[str]:
        """Nodes whose oldest request was sent more than `request_timeout_ms` ago."""
        return [
            node
            for node, queue in self._requests.items()
            if queue and now - queue[-1].send_time_ms > request_timeout_ms
        ]
