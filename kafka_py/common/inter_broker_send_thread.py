"""A thread that sends requests to other brokers, many at a time, and hears what became of each.

Mirrors: core/src/main/scala/kafka/common/InterBrokerSendThread.scala @ 1.1.1
Read next: clients/network_client.py; coordinator/transaction/transaction_marker_channel_manager.py
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.common.errors import DisconnectException
from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.utils.concurrent import InterruptedException
from kafka_py.utils.shutdownable_thread import ShutdownableThread

if TYPE_CHECKING:
    from kafka_py.clients.client_request import ClientRequest
    from kafka_py.clients.kafka_client import KafkaClient
    from kafka_py.clients.request_completion_handler import RequestCompletionHandler
    from kafka_py.common.node import Node
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.utils.time import Time


class RequestAndCompletionHandler(NamedTuple):
    """A request, who gets it, and who is told how it ended.

    Mirrors: kafka.common.RequestAndCompletionHandler
    """

    destination: Node
    request: AbstractRequest.Builder
    handler: RequestCompletionHandler


class InterBrokerSendThread(ShutdownableThread):
    """Asks its subclass for requests, sends those whose node is ready, and keeps the others until it is.

    Every request ends with a call of its handler, on this thread: with the answer, or with a response that says
    disconnected when the connection failed or the time was over.

    Mirrors: kafka.common.InterBrokerSendThread
    Thread:  its own calls everything but shutdown and wakeup, and owns the network client but for its wakeup and
        initiate_close.
    Differs: a shutdown ends a poll under way and closes the client, as from 2.7 on (`poll_once` is from there, too);
        1.1.1 leaves the sockets open. What goes wrong while requests are made ends the process, too, as from
        3.5 on; before, the thread ended and whatever it had to send stayed where it was.
    """

    def __init__(self, name: str, network_client: KafkaClient, time: Time, is_interruptible: bool = True) -> None:
        super().__init__(name, is_interruptible)
        self._network_client = network_client
        self._time = time
        self._unsent_requests = UnsentRequests()  # thread: of its owner

    @abstractmethod
    def generate_requests(self) -> Iterable[RequestAndCompletionHandler]:
        """What is to be sent now."""

    @property
    @abstractmethod
    def unsent_expiry_ms(self) -> int:
        """How long a request may wait for its node to be ready, in ms."""

    @property
    def has_unsent_requests(self) -> bool:
        """Whether a request waits for its node to be ready."""
        return bool(self._unsent_requests.nodes)

    def shutdown(self) -> None:
        """End the thread, also in the middle of a poll; the handlers of what was under way are not called."""
        self.initiate_shutdown()
        self._network_client.initiate_close()
        self.await_shutdown()
        self._network_client.close()

    def do_work(self) -> None:
        """One turn, however long nothing happens."""
        self.poll_once(LONG_MAX)

    def poll_once(self, max_timeout_ms: int) -> None:
        """Send what there is, wait for I/O at most so long, and end what cannot be sent.

        FatalExitError when something unforeseen happens: requests may be lost by then, and nobody would know.
        """
        now = self._time.milliseconds()
        try:
            self._drain_generated_requests(now)
            timeout = self._send_requests(now, max_timeout_ms)
            self._network_client.poll(timeout, now)
            now = self._time.milliseconds()
            self._check_disconnects(now)
            self._fail_expired_requests(now)
            self._unsent_requests.clean()
        except Exception as e:
            if isinstance(e, DisconnectException | InterruptedException) and not self.is_running:
                return  # that is how a shutdown ends a poll
            self.error("unhandled exception caught in InterBrokerSendThread", exc=e)
            raise FatalExitError from e

    def _drain_generated_requests(self, now: int) -> None:
        for destination, request, handler in self.generate_requests():
            client_request = self._network_client.new_client_request(
                destination.id_string(), request, now, True, handler
            )
            self._unsent_requests.put(destination, client_request)

    def _send_requests(self, now: int, max_timeout_ms: int) -> int:
        """Hand the requests of ready nodes to the client; how long to poll at most, in ms."""
        poll_timeout = max_timeout_ms
        client = self._network_client
        for node in self._unsent_requests.nodes:
            requests = self._unsent_requests.requests(node)
            while requests and client.ready(node, now):
                client.send(requests.popleft(), now)
            if requests:
                poll_timeout = min(poll_timeout, client.connection_delay(node, now))
        return poll_timeout

    def _check_disconnects(self, now: int) -> None:
        """End the unsent requests of nodes whose connection failed; those that were sent the client ends itself."""
        for node, requests in list(self._unsent_requests):
            if requests and self._network_client.connection_failed(node):
                self._unsent_requests.remove(node)
                if self._network_client.authentication_exception(node) is not None:
                    for request in requests:
                        self.error("Failed to send the following request due to authentication error: %s", request)
                for request in requests:
                    self.complete_with_disconnect(request, now)

    def _fail_expired_requests(self, now: int) -> None:
        for request in self._unsent_requests.remove_expired_requests(now, self.unsent_expiry_ms):
            self.debug("Failed to send the following request after %s ms: %s", self.unsent_expiry_ms, request)
            self.complete_with_disconnect(request, now)

    def complete_with_disconnect(self, request: ClientRequest, now: int) -> None:
        """Tell a request's handler that it was not sent."""
        handler = request.callback()
        header = request.make_header(request.request_builder().latest_allowed_version())
        ClientResponse(header, handler, request.destination(), now, now, True, None, None).on_complete()

    def wakeup(self) -> None:
        """Have the thread ask for requests again. Any thread."""
        self._network_client.wakeup()


class UnsentRequests:
    """The requests of each node that wait for it to be ready, oldest first.

    Mirrors: kafka.common.UnsentRequests
    Thread:  that of its InterBrokerSendThread.
    Differs: everything that is expired is removed at once; Kafka takes one request of a node at a time.
    Left out: requestIterator -- requests
    """

    def __init__(self) -> None:
        self._unsent: dict[Node, deque[ClientRequest]] = {}  # thread: of its owner

    def put(self, node: Node, request: ClientRequest) -> None:
        """Append."""
        self._unsent.setdefault(node, deque()).append(request)

    def remove_expired_requests(self, now: int, unsent_expiry_ms: int) -> list[ClientRequest]:
        """Take out and answer those that were made more than so many ms ago."""
        expired = []
        for requests in self._unsent.values():
            while requests and requests[0].created_time_ms() < now - unsent_expiry_ms:
                expired.append(requests.popleft())
        return expired

    def clean(self) -> None:
        """Forget nodes that nothing waits for."""
        for node in [node for node, requests in self._unsent.items() if not requests]:
            del self._unsent[node]

    def remove(self, node: Node) -> None:
        """Forget the requests of a node."""
        del self._unsent[node]

    def __iter__(self) -> Iterator[tuple[Node, deque[ClientRequest]]]:
        return iter(self._unsent.items())

    def requests(self, node: Node) -> deque[ClientRequest]:
        """Those of a node, to be taken from the left."""
        return self._unsent[node]

    @property
    def nodes(self) -> list[Node]:
        """The nodes with requests."""
        return list(self._unsent)
