"""One broker's requests, turn by turn on the test's own thread, over a wire that does what the test says."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.clients.client_request import ClientRequest
from kafka_py.clients.client_response import ClientResponse
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.controller.controller_channel_manager import QueueItem, RequestSendThread
from kafka_py.controller.controller_context import ControllerContext
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import CountDownLatch, LinkedBlockingQueue

NODE = Node(1, "host", 9092)
SOCKET_TIMEOUT_MS = 30_000


class Wire:
    """A KafkaClient to one broker: how connecting and answering end is decided one by one, and well if nobody says.

    Connecting: "accepted", "refused", or "silent" (time passes). Answering: "answered" or "lost".
    """

    def __init__(self, time: MockTime) -> None:
        self._time = time
        self.connecting: list[str] = []
        self.answering: list[str] = []
        self.log: list[str] = []
        self._connection = "none"
        self._in_flight: ClientRequest | None = None
        self._correlation = 0
        self._active = True

    def new_client_request(self, node_id: str, builder: Any, created_time_ms: int, expect: bool) -> ClientRequest:
        self._correlation += 1
        return ClientRequest(node_id, builder, self._correlation, "0", created_time_ms, expect, None)

    def is_ready(self, node: Node, now: int) -> bool:
        return self._connection == "accepted"

    def ready(self, node: Node, now: int) -> bool:
        self._connection = self.connecting.pop(0) if self.connecting else "accepted"
        self.log.append(self._connection)
        return self._connection == "accepted"

    def connection_failed(self, node: Node) -> bool:
        return self._connection == "refused"

    def authentication_exception(self, node: Node) -> None:
        return None

    def send(self, request: ClientRequest, now: int) -> None:
        assert self._connection == "accepted"
        self.log.append(f"send {cast('Any', request.request_builder())._controller_epoch}")
        self._in_flight = request

    def poll(self, timeout: int, now: int) -> list[ClientResponse]:
        if self._in_flight is None:
            if self._connection == "silent":
                self._time.sleep(timeout)
            return []
        request, self._in_flight = self._in_flight, None
        how = self.answering.pop(0) if self.answering else "answered"
        self.log.append(how)
        lost = how == "lost"
        if lost:
            self._connection = "none"
        body = cast("Any", None if lost else f"answer {self._correlation}")
        return [ClientResponse(request.make_header(0), None, request.destination(), now, now, lost, None, body)]

    def active(self) -> bool:
        return self._active

    def initiate_close(self) -> None:
        self.log.append("initiate close")
        self._active = False

    def close(self, node_id: str) -> None:
        assert node_id == "1"
        self.log.append("close")
        self._connection = "none"


class Sender:
    """A RequestSendThread that is not started: the test takes its turns."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.wire = Wire(self.time)
        self.queue: LinkedBlockingQueue[QueueItem] = LinkedBlockingQueue()
        config: Any = SimpleNamespace(controller_socket_timeout_ms=SOCKET_TIMEOUT_MS)
        logger = StateChangeLogger(0, in_controller_context=True)
        self.thread = RequestSendThread(
            0, ControllerContext(), self.queue, cast("Any", self.wire), NODE, config, self.time, logger, "send-thread"
        )
        self.pauses: list[float] = []
        self.stop_at_pause = 0
        self.answers: list[object] = []

    def pause(self, timeout_ms: float) -> None:
        self.pauses.append(timeout_ms)
        if len(self.pauses) == self.stop_at_pause:
            self.thread.initiate_shutdown()

    def put(self, *epochs: int) -> None:
        for epoch in epochs:
            request = StopReplicaRequest.Builder(0, epoch, False, set())
            self.queue.put(QueueItem(ApiKeys.STOP_REPLICA, request, self.answers.append))


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    made = Sender()
    monkeypatch.setattr(made.thread, "pause", made.pause)
    yield made
    made.thread.initiate_shutdown()


def test_the_answer_goes_to_who_asked(sender: Sender) -> None:
    sender.put(1, 2)
    sender.thread.do_work()
    assert sender.wire.log == ["accepted", "send 1", "answered"]
    sender.thread.do_work()
    assert sender.wire.log[3:] == ["send 2", "answered"], "over the same connection"
    assert sender.answers == ["answer 1", "answer 2"]
    assert sender.pauses == []


def test_nobody_needs_to_ask_for_the_answer(sender: Sender) -> None:
    sender.queue.put(QueueItem(ApiKeys.STOP_REPLICA, StopReplicaRequest.Builder(0, 1, False, set()), None))
    sender.thread.do_work()
    assert sender.wire.log == ["accepted", "send 1", "answered"]


def test_a_request_whose_connection_is_lost_is_sent_again_before_the_next(sender: Sender) -> None:
    sender.wire.answering = ["lost", "lost"]
    sender.put(1, 2)
    sender.thread.do_work()
    again = ["accepted", "send 1", "lost", "close"]
    assert sender.wire.log == [*again, *again, "accepted", "send 1", "answered"]
    assert sender.pauses == [100, 100]
    assert sender.answers == ["answer 3"], "told once, of the answer that came"
    assert sender.queue.size() == 1


def test_a_broker_that_refuses_is_asked_again_after_a_while(sender: Sender) -> None:
    sender.wire.connecting = ["refused", "refused"]
    sender.put(1)
    sender.thread.do_work()
    assert sender.wire.log == ["refused", "close", "refused", "close", "accepted", "send 1", "answered"]
    assert sender.pauses == [100, 100]


def test_a_broker_that_does_not_take_the_connection_is_given_the_socket_timeout(sender: Sender) -> None:
    sender.wire.connecting = ["silent"]
    sender.put(1)
    before = sender.time.milliseconds()
    sender.thread.do_work()
    assert sender.wire.log == ["silent", "close", "accepted", "send 1", "answered"]
    assert sender.time.milliseconds() - before == SOCKET_TIMEOUT_MS
    assert sender.pauses == [100]


def test_it_gives_up_when_it_is_asked_to_stop(sender: Sender) -> None:
    sender.wire.connecting = ["refused"] * 9
    sender.stop_at_pause = 3
    sender.put(1, 2)
    sender.thread.do_work()
    assert sender.wire.log.count("refused") == 3
    assert sender.wire.log[-1] == "initiate close"
    sender.thread.do_work()
    assert sender.queue.size() == 1, "what is queued is not taken any more"
    assert sender.answers == []
    assert not sender.thread.initiate_shutdown()
    assert sender.wire.log.count("initiate close") == 1


def test_the_next_request_goes_although_the_callback_failed(sender: Sender) -> None:
    def fail(response: object) -> None:
        raise ValueError("not this time")

    sender.queue.put(QueueItem(ApiKeys.STOP_REPLICA, StopReplicaRequest.Builder(0, 1, False, set()), fail))
    sender.put(2)
    sender.thread.do_work()
    sender.thread.do_work()
    assert sender.wire.log == ["accepted", "send 1", "answered", "close", "accepted", "send 2", "answered"]
    assert sender.answers == ["answer 2"]


def test_an_answer_to_something_else_is_handed_to_nobody(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender.wire, "send", lambda request, now: setattr(sender.wire, "_in_flight", request))
    builder = MetadataRequest.Builder.all_topics()
    sender.queue.put(QueueItem(ApiKeys.METADATA, builder, sender.answers.append))
    sender.thread.do_work()
    assert sender.answers == []
    assert sender.wire.log[-1] == "close"


def test_the_thread_itself() -> None:
    sender, answered = Sender(), CountDownLatch(1)
    sender.thread.start()
    builder = StopReplicaRequest.Builder(0, 1, False, set())
    sender.queue.put(QueueItem(ApiKeys.STOP_REPLICA, builder, lambda response: answered.count_down()))
    assert answered.await_(10_000)
    sender.thread.shutdown()
    assert sender.thread.is_shutdown_complete
    assert sender.wire.log[-1] == "initiate close"
