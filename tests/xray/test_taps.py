"""Methods are replaced while somebody listens, and only then."""

from __future__ import annotations

import threading
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_channel_manager import QueueItem
from kafka_py.controller.controller_event_manager import ControllerEvent
from kafka_py.controller.controller_state import ControllerState
from kafka_py.utils.compiled import Compiled, Form
from kafka_py.utils.concurrent import LinkedBlockingQueue, Semaphore, install_tap, remove_tap
from kafka_py.xray import readers, taps
from kafka_py.xray.event_log import EventLog
from kafka_py.xray.passage import POINTS, Passage, RequestInfo
from kafka_py.xray.request_journal import ObservedApis
from kafka_py.xray.watching import MOST_SENT, EventWriter, SentByController, ThreadStates

if TYPE_CHECKING:
    import pytest


class Listening:
    """Notes what passes."""

    def __init__(self, name: str = "", order: list[str] | None = None) -> None:
        self.arrived: list[Passage] = []
        self.left = 0
        self.name = name
        self.order = order if order is not None else []

    def arrive(self, passage: Passage) -> None:
        self.arrived.append(passage)
        self.order.append(self.name)

    def leave(self, passage: Passage) -> None:
        self.left += 1


class OwnEvent(ControllerEvent):
    """An event that is not the broker's: nobody can look it up, and nobody is to see it."""

    state = ControllerState.Idle

    def process(self) -> None:
        raise NotImplementedError


def methods() -> list[Any]:
    return [point.find().__dict__[point.member] for point in taps._points()]


def test_every_point_names_a_method_and_the_last_listener_gives_all_of_them_back() -> None:
    assert "OwnEvent.process" not in [point.method for point in taps._points()]
    before = methods()
    first, second = Listening(), Listening()
    taps.install(first)
    taps.install(second)
    assert not any(now is was for now, was in zip(methods(), before, strict=True))
    taps.remove(first)
    assert ObservedApis.handle_tap is not None
    taps.remove(second)
    assert all(now is was for now, was in zip(methods(), before, strict=True))
    assert ObservedApis.handle_tap is None


def test_who_may_hold_is_asked_first() -> None:
    order: list[str] = []
    writer, holder = Listening("writer", order), Listening("holder", order)
    apis: Any = SimpleNamespace(handle=lambda request, local: order.append("handled"), try_complete_actions=None)
    taps.install(writer)
    taps.install(holder, first=True)
    try:
        ObservedApis(apis).handle(a_request(), SimpleNamespace())  # type: ignore[arg-type]
    finally:
        taps.remove(writer)
        taps.remove(holder)
    assert order == ["holder", "writer", "handled"]
    assert (writer.left, writer.arrived[0].point) == (1, "handle")
    assert readers.current() is None


class _Request:
    """Can be a key, and be weakly referred to."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def a_request() -> Any:
    header = SimpleNamespace(api_key=SimpleNamespace(name="Produce"), api_version=8, client_id="p-1", correlation_id=5)
    records = MemoryRecords.with_records(SimpleRecord(1, value=b"v"))
    body = ProduceRequest(8, -1, 1000, dict.fromkeys([TopicPartition("a", 0), TopicPartition("a", 1)], records))
    return _Request(header=header, body=lambda: body, context=SimpleNamespace(connection_id="c"), processor=0)


def test_a_request_keeps_its_number() -> None:
    request, other = a_request(), a_request()
    info = readers.info_of(request)
    assert readers.info_of(request) is info
    assert readers.info_of(other).id == info.id + 1
    assert info.whole() == {
        "id": info.id,
        "api": "Produce",
        "version": 8,
        "clientId": "p-1",
        "connection": "c",
        "correlationId": 5,
        "topics": ["a"],
    }


def test_a_request_that_is_first_seen_at_its_end_has_let_its_records_go() -> None:
    request = a_request()
    request.body().clear_partition_records()
    assert readers.info_of(request).topics == ("a",)


def test_a_look_that_fails_is_logged_and_the_thread_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(owner: object, args: object, result: object) -> Passage:
        raise ValueError("what is this?")

    listening = Listening()
    point = taps.Point("xray.passage", "Passage", "__repr__", before=fails, after=fails)
    monkeypatch.setattr(taps, "TAPPED", (point,))
    taps.install(listening)
    try:
        assert repr(Passage("append", "Log.append")).endswith("at append >")
    finally:
        taps.remove(listening)
    assert listening.arrived == []
    assert [record.message for record in caplog.records].count(
        "Nobody sees Passage.__repr__: it could not be read"
    ) == 2


def test_an_event_is_told_under_its_points_name_when_it_is_done() -> None:
    events = EventLog()
    writer = EventWriter(events)
    info = RequestInfo(7, "Produce")
    for point in ("append", "appended", "completed", "end"):
        writer.arrive(Passage(point, "A.b", info, fields={"partition": "a-0"}))
    assert [(e["kind"], e["request"], e["partition"]) for e in events.after(0)] == [
        ("append", {"id": 7}, "a-0"),
        ("complete", {"id": 7}, "a-0"),
        ("end", {"id": 7}, "a-0"),
    ]
    assert "appended" not in POINTS


def test_threads_tell_what_they_wait_for_once() -> None:
    events = EventLog()
    states = ThreadStates(events)
    queue: LinkedBlockingQueue[int] = LinkedBlockingQueue()
    semaphore = Semaphore(1)
    install_tap(states)
    try:
        waiter = threading.Thread(target=queue.take, name="waiter")
        waiter.start()
        while states.of("waiter")[0] != "waiting-queue":
            continue
        semaphore.acquire()
        states.sample()
        states.sample()
        queue.put(1)
        waiter.join()
        states.sample()
    finally:
        remove_tap(states)
    told = [(e["thread"], e["state"]) for e in events.after(0)]
    me = threading.current_thread().name
    assert sorted(told) == sorted([("waiter", "waiting-queue"), (me, "running"), ("waiter", "ended")])


def test_the_compiled_form_says_what_it_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    assert taps.limits() == []
    monkeypatch.setattr(Compiled, "form", Form.COMPILED)
    monkeypatch.setattr(taps, "TAPPED", (taps.Point("xray.passage", "Passage", "topics"),))
    assert "Passage.topics" in taps.limits()[0]
    assert isinstance(taps.install, FunctionType)


def test_what_the_controller_sends_is_told_and_remembered() -> None:
    state = LeaderAndIsrRequest.PartitionState(1, 0, 4, [0, 2], 3, [0, 2], False)
    partitions = {TopicPartition("a", n): state for n in range(10)}
    tells = LeaderAndIsrRequest.Builder(1, 0, 1, partitions, set())
    stops = StopReplicaRequest.Builder(0, 1, True, {TopicPartition("b", 0)})
    thread = SimpleNamespace(broker_node=SimpleNamespace(id=2))
    sent = SentByController()
    for api, request in ((ApiKeys.LEADER_AND_ISR, tells), (ApiKeys.STOP_REPLICA, stops)):
        passage = readers.controller_send(thread, [QueueItem(api, request, None)], None)
        assert (passage.point, passage.fields["broker"]) == ("controller-send", 2)
        sent.arrive(passage)
    first, second = sent.to(2)
    assert (first["api"], first["count"], len(first["what"])) == ("LeaderAndIsr", 10, readers.MOST_TOLD)
    assert first["what"][0] == "a-0 leader 0 epoch 4 isr 0,2"
    assert second == {"api": "StopReplica", "what": ["b-0"], "count": 1}
    assert sent.to(1) == []
    for _ in range(2 * MOST_SENT):
        sent.arrive(passage)
    assert len(sent.to(2)) == MOST_SENT
