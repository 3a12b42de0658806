"""The queue between network threads and handlers; request times; histograms that take rows."""

from __future__ import annotations

import logging
import random
import struct
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.common.errors import InvalidRequestException
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.memory.simple_memory_pool import SimpleMemoryPool
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.heartbeat_request import HeartbeatRequest
from kafka_py.common.requests.request_context import RequestContext
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.metrics.yammer import Histogram, MetricName, Metrics
from kafka_py.network import request_channel
from kafka_py.network.request_channel import (
    CallbackRequest,
    CloseConnectionResponse,
    EndThrottlingResponse,
    NoOpResponse,
    Request,
    RequestChannel,
    Response,
    SendResponse,
    ShutdownRequest,
    StartThrottlingResponse,
)
from kafka_py.network.request_histogram import RequestHistogram, RequestTimes, SkippingSample
from kafka_py.network.request_metrics import RequestRows
from kafka_py.testing.mock_time import MockTime
from tests.network.socket_server_support import HEARTBEAT_BODY, message

METRICS = RequestChannel.Metrics([ApiKeys.HEARTBEAT, ApiKeys.API_VERSIONS, ApiKeys.PRODUCE, ApiKeys.ALTER_CONFIGS])


class FakeProcessor:
    """Where responses end."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.responses: list[Response] = []
        self.sleeps = False

    @property
    def response_queue_size(self) -> int:
        return len(self.responses)

    def enqueue_response(self, response: Response) -> bool:
        self.responses.append(response)
        return self.sleeps


def request(
    api_key: int = 12, version: int = 0, body: bytes = HEARTBEAT_BODY, pool: MemoryPool = MemoryPool.NONE
) -> Request:
    buffer = memoryview(bytearray(message(api_key, version, body, 5, b"client")[4:]))
    header = RequestHeader.parse(buffer)
    context = RequestContext(
        header, "conn", "10.0.0.1", KafkaPrincipal.ANONYMOUS, ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT
    )
    return Request(3, context, 1_000_000, pool, buffer, METRICS)


@pytest.fixture
def channel() -> Iterator[RequestChannel]:
    made = RequestChannel(4, "Test", MockTime(), METRICS)
    yield made
    made.clear()


def test_requests_come_out_in_order_and_the_queue_is_bounded(channel: RequestChannel) -> None:
    requests = [request() for _ in range(5)]
    channel.send_request(requests[0])
    channel.send_requests(requests[1:4])
    blocked = threading.Thread(target=channel.send_request, args=(requests[4],))
    blocked.start()
    blocked.join(0.02)
    assert blocked.is_alive()
    assert [channel.receive_request(1000) for _ in range(5)] == requests
    blocked.join()
    assert channel.receive_request(1) is None
    assert repr(channel) == "RequestChannel(queued=0/4, callbacks=0, processors=[])"


def test_callbacks_go_first_and_wake_a_waiting_handler(channel: RequestChannel) -> None:
    first = CallbackRequest(lambda local: None, request())
    channel.send_request(request())
    channel.send_callback_request(first)
    assert channel.receive_request(1000) is first
    assert isinstance(channel.receive_request(1000), Request)
    assert channel.receive_request(1000) is None, "the wake-up of a callback that is gone"
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(channel.receive_request(5000)))
    waiting.start()
    second = CallbackRequest(lambda local: None, request())
    channel.send_callback_request(second)
    waiting.join(5)
    assert found == [second]


def test_shutdown_request(channel: RequestChannel) -> None:
    channel.send_shutdown_request()
    assert channel.receive_request() is ShutdownRequest
    assert repr(ShutdownRequest) == "ShutdownRequest"


def test_responses_go_to_the_processor_of_the_request(channel: RequestChannel) -> None:
    processor = FakeProcessor(3)
    channel.add_processor(cast("Any", processor))
    one = request()
    send = NetworkSend("conn", b"")
    channel.send_response(SendResponse(one, send))
    channel.send_no_op_response(one)
    channel.close_connection(one, {})
    channel.start_throttling(one)
    channel.end_throttling(one)
    assert [type(r) for r in processor.responses] == [
        SendResponse,
        NoOpResponse,
        CloseConnectionResponse,
        StartThrottlingResponse,
        EndThrottlingResponse,
    ]
    assert [r.processor for r in processor.responses] == [3] * 5
    assert [repr(r)[:22] for r in processor.responses][1:3] == ["Response(type=NoOp, re", "Response(type=CloseCon"]
    channel.remove_processor(3)
    channel.send_no_op_response(one)
    assert len(processor.responses) == 5, "the processor is gone, the response with it"


def test_who_has_woken_the_processor_lets_it_run_unless_requests_wait(
    channel: RequestChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = FakeProcessor(3)
    yields: list[int] = []
    monkeypatch.setattr(request_channel, "yield_core", lambda: yields.append(len(processor.responses)))
    channel.add_processor(cast("Any", processor))
    one = request()
    channel.send_no_op_response(one)
    assert yields == [], "it was awake"
    processor.sleeps = True
    channel.send_no_op_response(one)
    assert yields == [2], "after the response was handed over"
    channel.send_request(request())
    channel.send_no_op_response(one)
    assert yields == [2], "the next request is more urgent"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (lambda r: SendResponse(r, NetworkSend("c", b"12")), "Sending Heartbeat response to client client of 6 bytes."),
        (NoOpResponse, "Not sending Heartbeat response to client client as it's not required."),
        (CloseConnectionResponse, "Closing connection for client client due to error during Heartbeat."),
        (StartThrottlingResponse, "Notifying channel throttling has started for client client for Heartbeat"),
        (EndThrottlingResponse, "Notifying channel throttling has ended for client client for Heartbeat"),
    ],
)
def test_trace_lines(channel: RequestChannel, caplog: pytest.LogCaptureFixture, response: Any, text: str) -> None:
    one = request()
    with caplog.at_level(5, "kafka.network.RequestChannel"):
        channel.send_response(response(one))
    assert caplog.messages == [text]


def test_a_response_ends_the_handlers_time_once(channel: RequestChannel) -> None:
    one = request()
    channel.start_throttling(one)
    assert one.response_complete_time_nanos == -1
    channel.send_no_op_response(one)
    assert one.response_complete_time_nanos == one.api_local_complete_time_nanos > 0
    two = request()
    two.api_local_complete_time_nanos = 7
    two.callback_request_dequeue_time_nanos = 1
    channel.send_no_op_response(two)
    assert two.api_local_complete_time_nanos == 7
    assert two.callback_request_complete_time_nanos == two.response_complete_time_nanos


def test_request_metrics() -> None:
    one = request()
    metrics = METRICS["Heartbeat"]
    before = metrics.local_time_hist.count, metrics.request_rate.count
    one.request_dequeue_time_nanos = 6_000_000
    one.api_local_complete_time_nanos = 16_400_000
    one.response_complete_time_nanos = 36_900_000
    one.response_dequeue_time_nanos = 36_000_000
    one.api_throttle_time_ms = 3
    spent: list[int] = []
    one.record_network_thread_time_callback = spent.append
    rows: list[tuple[float, ...]] = []
    original = metrics.record

    def record(row: tuple[float, ...]) -> None:
        rows.append(row)
        original(row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "record", record)
        one.update_request_metrics(99, NoOpResponse(one))
    row = [column[0] for column in RequestRows().columns_of(rows)]
    # queue 5, local 10.4, remote 20.5 half up, throttle 3, response queue below zero, then up to now, bytes of the body
    assert row[:5] == [5, 10, 21, 3, 0]
    assert row[5] > 0
    assert row[6] > 0
    assert row[7:] == [len(HEARTBEAT_BODY), 0, 0]
    assert spent == [99]
    assert metrics.local_time_hist.count == before[0] + 1
    assert metrics.request_rate.count == before[1] + 1
    assert one.request_thread_time_nanos == 10_400_000


def test_callback_time_is_local_time() -> None:
    one = request()
    one.request_dequeue_time_nanos = 0
    one.api_local_complete_time_nanos = 1_000_000
    one.callback_request_dequeue_time_nanos = 50_000_000
    one.callback_request_complete_time_nanos = 60_000_000
    one.response_complete_time_nanos = 61_000_000
    rows: list[tuple[float, ...]] = []
    metrics = METRICS["Heartbeat"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "record", rows.append)
        one.update_request_metrics(0, NoOpResponse(one))
    assert [column[0] for column in RequestRows().columns_of(rows)][1:3] == [11, 50]


@pytest.mark.parametrize("log_level", [logging.DEBUG, 5])
def test_request_log(caplog: pytest.LogCaptureFixture, log_level: int) -> None:
    with caplog.at_level(log_level, "kafka.request.logger"):
        one = request()
        assert RequestChannel.is_request_logging_enabled()
        one.temporary_memory_bytes = 8
        one.message_conversions_time_nanos = 1_500_000
        one.update_request_metrics(0, SendResponse(one, NetworkSend("conn", b""), "the answer"))
    (line,) = caplog.messages
    assert line.startswith("Completed request:RequestHeader(apiKey=HEARTBEAT")
    assert ",response:the answer from connection conn;totalTime:" in line
    assert line.endswith("listener:PLAINTEXT,temporaryMemoryBytes:8,messageConversionsTime:1.5")


def test_secrets_of_alter_configs_are_not_described() -> None:
    body = struct.pack(">i", 1) + b"\4\0\0010" + struct.pack(">i", 1) + b"\0\x08password\0\6secret" + b"\0"
    one = request(33, 0, body)
    assert "secret" not in one.request_desc(True)
    assert "AlterConfigsRequest" in one.request_desc(True)


def test_body_and_sizes() -> None:
    one = request()
    assert isinstance(one.body(HeartbeatRequest), HeartbeatRequest)
    with pytest.raises(TypeError, match="Expected request with type"):
        one.body(ApiVersionsRequest)
    assert (one.size_of_body_in_bytes, one.size_in_bytes) == (len(HEARTBEAT_BODY), len(HEARTBEAT_BODY) + 16)
    assert not one.is_forwarded
    assert one.header_for_logging_or_throttling() is one.header
    assert "connectionId=conn" in repr(one)


def test_buffers_go_back_once() -> None:
    pool = SimpleMemoryPool(1000, 1000, False)
    assert pool.try_allocate(len(HEARTBEAT_BODY) + 16) is not None
    one = request(pool=pool)
    assert one.buffer is None, "nothing of a heartbeat needs the buffer after parsing"
    one.release_buffer()
    assert pool.available_memory() == 1000


def test_body_that_does_not_fit() -> None:
    with pytest.raises(InvalidRequestException, match="Error getting request for apiKey: HEARTBEAT"):
        request(body=HEARTBEAT_BODY[:-1])


def test_rows_reach_the_histograms_when_they_are_read() -> None:
    table = RequestTimes()
    names = [MetricName("kafka.test", "Rows", name) for name in "ab"]
    first, second = (table.add_column(name) for name in names)
    for i in range(1000):
        table.record((i, 7, "never looked at"))

    def five_more() -> None:
        for i in range(5):
            table.record((2000 + i, 7))

    other = threading.Thread(target=five_more)
    other.start()
    other.join()
    assert (first.count, first.min, first.max, second.mean) == (1005, 0, 2004, 7)
    plain = Histogram(True)
    for value in [*range(1000), *range(2000, 2005)]:
        plain.update(value)
    assert first.sum == plain.sum
    assert first.mean == pytest.approx(plain.mean)
    assert first.std_dev == pytest.approx(plain.std_dev)
    assert first.snapshot().size() == 1005
    first.update(-5)
    assert first.min == -5
    for name in names:
        Metrics.default_registry().remove_metric(name)


def test_many_threads_and_a_reader_lose_no_row() -> None:
    table = RequestTimes()
    name = MetricName("kafka.test", "Rows", "threads")
    histogram = table.add_column(name)
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            histogram.tick()

    def write() -> None:
        for _ in range(3000):
            table.record((1,))

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write) for _ in range(4)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert histogram.count == histogram.sum == 12_000
    Metrics.default_registry().remove_metric(name)


def test_skipping_sample_is_as_fair_as_asking_each() -> None:
    random.seed(7)
    time = MockTime()
    means = []
    for _ in range(20):
        sample = SkippingSample(size=50, time=time)
        for start in range(0, 2000, 100):
            sample.update_all([float(v) for v in range(start, start + 100)])
        values = sample.snapshot().values
        assert len(values) == 50
        means.append(sum(values) / 50)
    assert 900 < sum(means) / 20 < 1100


def test_skipping_sample_prefers_the_present() -> None:
    time = MockTime()
    sample = SkippingSample(size=100, time=time)
    sample.update_all([1.0] * 1000)
    time.sleep(600_000)
    sample.update_all([2.0] * 1000)
    assert sample.snapshot().get_value(0.5) == 2.0
    time.sleep(3_600_000)
    sample.update_all([3.0] * 1000)
    assert sample.snapshot().get_value(0.5) == 3.0
    assert isinstance(RequestHistogram()._sample, SkippingSample)
