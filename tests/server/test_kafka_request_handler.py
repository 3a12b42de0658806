"""Handlers, their pool, and the meters of topics."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.time import Time
from kafka_py.metrics.yammer import Meter, Metrics
from kafka_py.network.request_channel import CallbackRequest, Request, RequestChannel, WakeupRequest
from kafka_py.server.kafka_request_handler import (
    AggregatedMetric,
    ApiRequestHandler,
    BrokerTopicMetrics,
    BrokerTopicStats,
    KafkaRequestHandler,
    KafkaRequestHandlerPool,
)
from kafka_py.server.request_local import RequestLocal
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import AtomicInteger
from kafka_py.utils.mbeans import MBeanServer
from tests.network.socket_server_support import wait_until
from tests.network.test_request_channel import METRICS, request


class Apis(ApiRequestHandler):
    """Handles with whatever the test gives it."""

    def __init__(self) -> None:
        self.handled: list[Request] = []
        self.actions = 0
        self.do: Any = None

    def handle(self, request: Request, request_local: RequestLocal) -> None:
        self.handled.append(request)
        if self.do is not None:
            self.do(request, request_local)

    def try_complete_actions(self) -> None:
        self.actions += 1


class World:
    def __init__(self, threads: int, time: Time = Time.SYSTEM) -> None:
        self.channel = RequestChannel(500, "HandlerTest", time, METRICS)
        self.apis = Apis()
        self.pool = KafkaRequestHandlerPool(7, self.channel, self.apis, time, threads, "TestIdlePercent", "data-plane")

    def live(self) -> int:
        return sum(t.name.startswith("data-plane-kafka-request-handler-") for t in threading.enumerate())

    def close(self) -> None:
        self.pool.shutdown()
        wait_until(lambda: self.live() == 0)


@pytest.fixture
def world() -> Iterator[World]:
    made = World(2)
    yield made
    made.close()


def test_requests_are_handled(world: World) -> None:
    requests = [request() for _ in range(20)]
    world.channel.send_requests(requests)
    wait_until(lambda: len(world.apis.handled) == 20)
    assert all(r.request_dequeue_time_nanos > 0 for r in requests)
    assert repr(world.pool) == "KafkaRequestHandlerPool(data-plane, size=2)"
    assert repr(world.pool.runnables[1]) == "KafkaRequestHandler(id=1, broker=7, stopped=False)"


def test_an_error_of_a_request_is_logged_and_the_next_is_handled(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Request, __: RequestLocal) -> None:
        raise ValueError("test exception")

    world.apis.do = fail
    with caplog.at_level("ERROR"):
        for _ in range(5):
            world.channel.send_request(request())
        wait_until(lambda: sum("Exception when handling request" in m for m in caplog.messages) == 5)
    assert world.live() == 2


def test_fatal_exit_error_ends_the_process(world: World) -> None:
    codes: list[int] = []
    Exit.set_exit_procedure(lambda code, message: codes.append(code))

    def fail(_: Request, __: RequestLocal) -> None:
        raise FatalExitError(3)

    try:
        world.apis.do = fail
        world.channel.send_request(request())
        wait_until(lambda: codes == [3])
    finally:
        Exit.reset_exit_procedure()


def test_a_handler_that_was_stopped_leaves_the_shutdown_to_another() -> None:
    class Channel(RequestChannel):
        """Stops the handler while it waits."""

        def receive_request(self, timeout: int | None = None) -> Any:
            handler.stop()
            return super().receive_request(timeout)

    channel = Channel(10, "StoppedTest", Time.SYSTEM, METRICS)
    handler = KafkaRequestHandler(0, 7, Meter(), AtomicInteger(1), channel, Apis(), Time.SYSTEM)
    channel.send_shutdown_request()
    handler.run()
    assert handler.shutdown_complete.get_count() == 0
    assert channel.request_queue.size() == 1


def test_a_handler_that_gets_no_thread_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = World(1)

    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError, match="can't start"):
            made.pool.resize_thread_pool(2)
    closing = threading.Thread(target=made.close, daemon=True)
    closing.start()
    closing.join(3)
    assert not closing.is_alive()


@pytest.mark.slow
def test_resize(world: World) -> None:
    world.pool.resize_thread_pool(4)
    assert (world.live(), [h.id for h in world.pool.runnables]) == (4, [0, 1, 2, 3])
    world.pool.resize_thread_pool(1)
    assert [h.id for h in world.pool.runnables] == [0]
    for _ in range(20):
        world.channel.send_request(request())
    wait_until(lambda: world.live() == 1)
    world.pool.resize_thread_pool(3)
    assert (world.live(), world.pool.thread_pool_size.get()) == (3, 3)
    before = len(world.apis.handled)
    world.channel.send_request(request())
    wait_until(lambda: len(world.apis.handled) == before + 1)


def test_shutdown_handles_what_was_queued_before() -> None:
    world = World(1)
    world.channel.send_requests([request() for _ in range(50)])
    world.close()
    assert len(world.apis.handled) == 50


def handler_of(channel: RequestChannel, apis: Apis, time: Time) -> KafkaRequestHandler:
    meter: Any = Metrics.default_registry()
    return KafkaRequestHandler(0, 7, cast("Any", Marks(meter)), AtomicInteger(2), channel, apis, time)


class Marks:
    """Takes the place of the idle meter."""

    def __init__(self, _: Any) -> None:
        self.marked: list[int] = []

    def mark(self, n: int) -> None:
        self.marked.append(n)


class SlowChannel(RequestChannel):
    """Every request takes 10 ms to come."""

    def receive_request(self, timeout: int | None = None) -> Any:
        cast("MockTime", self._time).sleep(10)
        return super().receive_request(1)


def test_idle_time_is_shared_among_the_handlers() -> None:
    time = MockTime()
    channel = SlowChannel(10, "Idle", time, METRICS)
    handler = handler_of(channel, Apis(), time)
    channel.send_request(request())
    channel.send_request(WakeupRequest)
    channel.send_shutdown_request()
    handler.run()
    assert cast("Any", handler.aggregate_idle_meter).marked == [5_000_000] * 3
    assert handler.shutdown_complete.get_count() == 0
    handler.await_shutdown()


def test_stop_ends_the_loop() -> None:
    time = MockTime()
    handler = handler_of(SlowChannel(10, "Stop", time, METRICS), Apis(), time)
    handler.stop()
    handler.run()
    assert handler.shutdown_complete.get_count() == 0


@pytest.mark.ported("KafkaRequestHandlerTest.testCallbackTiming")
def test_callback_timing() -> None:
    time = MockTime()
    channel = RequestChannel(10, "Callback", time, METRICS)
    apis = Apis()
    handler = handler_of(channel, apis, time)
    original = request()
    start = time.nanoseconds()
    channel.send_callback_request(CallbackRequest(lambda local: time.sleep(2), original))
    channel.send_callback_request(CallbackRequest(lambda local: time.sleep(3), original))
    channel.send_shutdown_request()
    handler.run()
    assert original.callback_request_dequeue_time_nanos == start + 2_000_000 - 2_000_000
    assert original.callback_request_complete_time_nanos == start + 5_000_000
    assert apis.actions == 2


def test_wrapped_callback_runs_at_once_on_the_requests_thread_and_else_is_queued() -> None:
    time = MockTime()
    channel = RequestChannel(10, "Wrap", time, METRICS)
    apis = Apis()
    handler = handler_of(channel, apis, time)
    ran: list[tuple[str, RequestLocal]] = []
    wrapped: list[Any] = []

    def do(_: Request, local: RequestLocal) -> None:
        def remember(new: RequestLocal, text: str) -> None:
            ran.append((text, new))

        callback = KafkaRequestHandler.wrap_async_callback(remember, local)
        callback("at once")
        wrapped.append(callback)

    apis.do = do
    channel.send_request(request())
    channel.send_shutdown_request()
    handler.run()
    assert [text for text, _ in ran] == ["at once"]
    wrapped[0]("later")
    assert channel.callback_queue.size() == 1
    second = handler_of(channel, Apis(), time)
    channel.send_shutdown_request()
    second.run()
    assert ran[1] == ("later", second.request_local)


def test_wrapping_elsewhere_is_refused_unless_bypassed() -> None:
    local = RequestLocal.NO_CACHING
    with pytest.raises(IllegalStateException, match="from non-request handler thread"):
        KafkaRequestHandler.wrap_async_callback(lambda new, t: None, local)
    KafkaRequestHandler.set_bypass_thread_check(True)
    try:
        found: list[Any] = []
        KafkaRequestHandler.wrap_async_callback(lambda new, t: found.append((new, t)), local)(5)
        assert found == [(local, 5)]
    finally:
        KafkaRequestHandler.set_bypass_thread_check(False)


def test_topic_meters_come_when_they_are_marked() -> None:
    stats = BrokerTopicStats()
    assert not stats.is_topic_stats_existed("t")
    topic = stats.topic_stats("t")
    assert topic.metric_map() == {}
    topic.messages_in_rate.mark(3)
    assert topic.messages_in_rate.count == 3
    assert list(topic.metric_map()) == ["MessagesInPerSec"]
    assert topic.replication_bytes_in_rate is None
    before = stats.all_topics_stats.bytes_out_rate.count
    stats.update_bytes_out("t", False, 10)
    stats.update_bytes_out("t", True, 20)
    stats.update_bytes_out("t", True, 30, True)
    assert topic.bytes_out_rate.count == 10
    assert stats.all_topics_stats.bytes_out_rate.count == before + 10
    stats.update_replication_bytes_in(1)
    stats.update_reassignment_bytes_in(1)
    names = {n.m_bean_name for n in Metrics.default_registry().all_metrics()}
    assert "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec,topic=t" in names
    assert "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec" in names
    stats.remove_old_leader_metrics("t")
    assert list(topic.metric_map()) == ["BytesOutPerSec"]
    stats.remove_old_follower_metrics("t")
    stats.remove_metrics("t")
    assert not stats.is_topic_stats_existed("t")
    stats.close()
    left = [n for n in Metrics.default_registry().all_metrics() if n.type == "BrokerTopicMetrics"]
    assert left == []


def test_a_topics_meters_of_1_1_1_are_shown_before_they_are_marked() -> None:
    mbeans = MBeanServer()
    stats = BrokerTopicStats(mbeans)
    prefix, suffix = "kafka.server:type=BrokerTopicMetrics,name=", ",topic=silent"
    stats.remove_old_leader_metrics("silent")
    assert list(mbeans.beans()) == [], "no event, no meters"
    topic = stats.topic_stats("silent")
    shown = {name.removeprefix(prefix).removesuffix(suffix): bean for name, bean in mbeans.beans()}
    assert set(shown) == {
        "MessagesInPerSec", "BytesInPerSec", "BytesOutPerSec", "BytesRejectedPerSec", "FailedProduceRequestsPerSec",
        "FailedFetchRequestsPerSec", "TotalProduceRequestsPerSec", "TotalFetchRequestsPerSec",
        "FetchMessageConversionsPerSec", "ProduceMessageConversionsPerSec",
    }  # fmt: skip
    rejected = shown["BytesRejectedPerSec"]
    assert [rejected[name]() for name in ("EventType", "Count", "OneMinuteRate")] == ["bytes", 0, 0.0]
    topic.bytes_rejected_rate.mark(5)
    assert f"{prefix}BytesRejectedPerSec{suffix}" not in dict(mbeans.beans()), "the registry shows the true one"
    stats.remove_metrics("silent")
    assert list(mbeans.beans()) == []
    stats.topic_stats("silent")
    stats.close()
    assert list(mbeans.beans()) == []


def test_all_topics_meters_exist_from_the_start() -> None:
    metrics = BrokerTopicMetrics(None)
    assert len(metrics.metric_map()) == 18
    metrics.close()


def test_aggregated_metric() -> None:
    metric = AggregatedMetric()
    metric.set_value("0", 5)
    metric.set_value("1", 7)
    assert metric.value() == 12
    assert metric.remove_key("0") == 5
    assert metric.value() == 7
    metric.close()
    assert metric.value() == 0
