"""The selector against an echo server, and against sockets in this test's hands."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.memory.simple_memory_pool import SimpleMemoryPool
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.channel_state import ChannelState
from kafka_py.common.network.client_information import ClientInformation
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.network.nio_selector import OP_READ, SelectionKey
from kafka_py.common.network.plaintext_channel_builder import PlaintextChannelBuilder
from kafka_py.common.network.selector import Selector
from kafka_py.testing.mock_time import MockTime
from tests.common.network.network_support import EchoServer, connect, frame, poll_until, request, socket_pair, text

IDLE_MS = 5_000


class World:
    """A selector, its clock and its metrics."""

    def __init__(self, pool: MemoryPool = MemoryPool.NONE, selector_class: type[Selector] = Selector) -> None:
        self.time = MockTime()
        self.metrics = Metrics(time=self.time)
        self.selector = selector_class(
            -1, IDLE_MS, self.metrics, self.time, "MetricGroup", {}, PlaintextChannelBuilder(None), memory_pool=pool
        )

    def value(self, name: str, **tags: str) -> float:
        for metric_name, metric in self.metrics.metrics().items():
            if metric_name.name == name and metric_name.tags == tags:
                return metric.value()
        raise KeyError(name)

    def close(self) -> None:
        self.selector.close()
        self.metrics.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[EchoServer]:
    made = EchoServer()
    yield made
    made.close()


@pytest.mark.ported("SelectorTest.testServerDisconnect")
def test_server_disconnect(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    assert request(world.selector, "0", b"hello") == b"hello"
    channel = world.selector.channel("0")
    assert channel is not None
    server.close_connections()
    poll_until(world.selector, lambda: "0" in world.selector.disconnected())
    assert channel.selection_key().attachment is None
    connect(world.selector, "0", server.address)
    assert request(world.selector, "0", b"again") == b"again"


@pytest.mark.ported("SelectorTest.testCantSendWithInProgress")
def test_cannot_send_with_a_send_in_progress(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    channel = world.selector.channels["0"]
    channel.begin_send(NetworkSend("0", b"test1"))
    with pytest.raises(IllegalStateException, match="prior send operation still in progress"):
        world.selector.send(NetworkSend("0", b"test2"))
    assert world.selector.disconnected() == {}
    world.selector.poll(0)
    assert world.selector.disconnected() == {"0": ChannelState.FAILED_SEND}
    assert world.selector.channels == {}


@pytest.mark.ported("SelectorTest.testSendWithoutConnecting")
def test_send_without_connecting(world: World) -> None:
    with pytest.raises(IllegalStateException, match=r"no connection\. Connection id 0"):
        world.selector.send(NetworkSend("0", b"test"))


@pytest.mark.parametrize("host", ["some.invalid", "no..host", "x" * 64])  # the last two cannot even be asked for
@pytest.mark.ported("SelectorTest.testNoRouteToHost")
def test_unknown_host(world: World, host: str) -> None:
    with pytest.raises(OSError, match="Can't resolve address"):
        world.selector.connect("0", (host, 9092), -1, -1)
    assert world.selector.channels == {}


@pytest.mark.ported("SelectorTest.testConnectionRefused")
def test_connection_refused(world: World) -> None:
    with socket.socket() as not_listening:
        not_listening.bind(("127.0.0.1", 0))
        world.selector.connect("0", not_listening.getsockname(), 1000, 1000)
        poll_until(world.selector, lambda: "0" in world.selector.disconnected())
        state = world.selector.disconnected()["0"]
        assert state.state() is ChannelState.State.NOT_CONNECTED


@pytest.mark.ported("SelectorTest.testNormalOperation")
def test_normal_operation(world: World, server: EchoServer) -> None:
    conns, reqs = 5, 50
    for i in range(conns):
        connect(world.selector, str(i), server.address)
    answers = dict.fromkeys(range(conns), 0)
    for i in range(conns):
        world.selector.send(NetworkSend(str(i), b"%d-0" % i))
    sent = 0
    while sum(answers.values()) < conns * reqs:
        world.selector.poll(50)
        assert world.selector.disconnected() == {}
        sent += len(world.selector.completed_sends())
        for receive in world.selector.completed_receives():
            i, n = map(int, text(receive).split(b"-"))
            assert (receive.source(), n) == (str(i), answers[i])
            answers[i] += 1
            if answers[i] < reqs:
                world.selector.send(NetworkSend(str(i), b"%d-%d" % (i, answers[i])))
    assert sent == conns * reqs
    world.selector.poll(0)  # a poll that finds nothing brings the sensors up to date
    assert world.value("request-total") == conns * reqs
    assert world.value("response-total") == conns * reqs
    assert world.value("outgoing-byte-total") == world.value("incoming-byte-total") > 0
    assert world.value("request-total", **{"node-id": "node-3"}) == reqs
    assert 0 < world.value("request-size-avg") <= world.value("request-size-max")


@pytest.mark.ported("SelectorTest.testSendLargeRequest")
def test_large_request(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    big = bytes(range(256)) * 5000
    assert request(world.selector, "0", big) == big


@pytest.mark.ported("SelectorTest.testPartialSendAndReceiveReflectedInMetrics")
def test_partial_send_is_in_the_metrics(world: World) -> None:
    ours, theirs = socket_pair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000)
    with theirs:
        world.selector.register("0", ours)
        world.selector.channels["0"].set_state(ChannelState.READY)
        world.selector.send(NetworkSend("0", bytes(20_000_000)))
        world.selector.poll(0)
        assert 0 < world.value("outgoing-byte-total") < 20_000_000
        assert (world.value("request-total"), world.selector.completed_sends()) == (0, [])
        key = world.selector.channels["0"].selection_key()
        assert key.interest & 4


@pytest.mark.ported("SelectorTest.testEmptyRequest")
def test_empty_request(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    assert request(world.selector, "0", b"") == b""


@pytest.mark.ported("SelectorTest.testClearCompletedSendsAndReceives")
def test_clear_completed(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    selector = world.selector
    selector.send(NetworkSend("0", b"one"))
    assert selector.completed_sends() == []
    selector.collect_completed_sends()
    assert len(selector.completed_sends()) == 1
    selector.clear_completed_sends()
    assert selector.completed_sends() == []
    poll_until(selector, lambda: bool(selector.completed_receives()))
    selector.clear_completed_receives()
    assert not selector.completed_receives()


def test_a_send_that_went_out_at_once_is_told_by_the_next_poll_without_a_wait(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    send = NetworkSend("0", b"one")
    world.selector.send(send)
    assert send.completed()
    world.selector.poll(60_000)
    assert world.selector.completed_sends() == [send]


@pytest.mark.ported("SelectorTest.testExistingConnectionId")
def test_existing_connection_id(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    with pytest.raises(IllegalStateException, match="There is already a connection for id 0"):
        world.selector.connect("0", server.address, -1, -1)


@pytest.mark.ported("SelectorTest.testMute")
def test_mute(world: World, server: EchoServer) -> None:
    selector = world.selector
    connect(selector, "0", server.address)
    connect(selector, "1", server.address)
    selector.send(NetworkSend("0", b"hello"))
    selector.send(NetworkSend("1", b"hi"))
    selector.mute("1")
    poll_until(selector, lambda: bool(selector.completed_receives()))
    assert [r.source() for r in selector.completed_receives()] == ["0"]
    selector.unmute("1")
    poll_until(selector, lambda: any(r.source() == "1" for r in selector.completed_receives()))
    selector.mute_all()
    assert all(channel.is_muted() for channel in selector.channels.values())
    selector.unmute_all()
    assert not any(channel.is_muted() for channel in selector.channels.values())


@pytest.mark.ported("SelectorTest.testCloseAllChannels")
def test_close_goes_on_after_an_error(server: EchoServer) -> None:
    class Failing(Selector):
        def close(self, id: str | None = None) -> None:
            super().close(id)
            if id is not None:
                raise RuntimeError("not closed properly")

    world = World(selector_class=Failing)
    for id in "01":
        connect(world.selector, id, server.address)
    with pytest.raises(RuntimeError, match="not closed properly"):
        world.selector.close()
    assert world.selector.channels == {}
    assert not world.selector.nio_selector.is_open()
    assert len(world.metrics.metrics()) == 1
    world.metrics.close()


@pytest.mark.ported("SelectorTest.testCloseOldestConnection")
def test_close_oldest_connection(world: World, server: EchoServer) -> None:
    connect(world.selector, "0", server.address)
    world.time.sleep(IDLE_MS + 1000)
    world.selector.poll(0)
    assert world.selector.disconnected() == {"0": ChannelState.EXPIRED}


def test_the_busy_connection_is_not_the_one_that_expires(world: World, server: EchoServer) -> None:
    for id in "01":
        connect(world.selector, id, server.address)
    world.time.sleep(IDLE_MS - 1000)
    assert request(world.selector, "0", b"busy") == b"busy"
    world.time.sleep(2000)
    world.selector.poll(0)
    assert list(world.selector.disconnected()) == ["1"]
    world.selector.poll(0)
    assert list(world.selector.channels) == ["0"]


@pytest.mark.ported("SelectorTest.testIdleExpiryWithoutReadyKeys")
def test_idle_expiry_without_ready_keys(world: World, server: EchoServer) -> None:
    world.selector.connect("0", server.address, -1, -1)
    key = world.selector.channels["0"].selection_key()
    key.remove(key.interest)
    world.time.sleep(IDLE_MS + 1000)
    world.selector.poll(0)
    assert "0" in world.selector.disconnected()


class ImmediatelyConnecting(Selector):
    def do_connect(self, channel: socket.socket, address: Any) -> bool:
        channel.setblocking(True)
        connected = super().do_connect(channel, address)
        channel.setblocking(False)
        return connected


@pytest.mark.parametrize("poll_first", [True, False])
@pytest.mark.ported("SelectorTest.testImmediatelyConnectedCleaned")
def test_immediately_connected_is_cleaned(server: EchoServer, poll_first: bool) -> None:
    world = World(selector_class=ImmediatelyConnecting)
    world.selector.connect("0", server.address, -1, -1)
    assert len(world.selector.immediately_connected_keys()) == 1
    if poll_first:
        world.selector.poll(0)
        assert world.selector.connected() == ["0"]
        assert not world.selector.immediately_connected_keys()
    world.selector.close("0")
    assert not world.selector.immediately_connected_keys()
    assert (world.selector.channels, list(world.selector.keys())) == ({}, [])
    world.close()


@pytest.mark.ported("SelectorTest.testConnectException")
def test_connect_exception_leaves_nothing(server: EchoServer) -> None:
    class Failing(ImmediatelyConnecting):
        def register_channel(self, id: str, socket_channel: socket.socket, interested_ops: int) -> SelectionKey:
            super().register_channel(id, socket_channel, interested_ops)
            raise OSError(errno.EIO, "Test exception")

    world = World(selector_class=Failing)
    with pytest.raises(OSError, match="Test exception"):
        world.selector.connect("0", server.address, -1, -1)
    assert world.selector.channel("0") is None
    assert not world.selector.immediately_connected_keys()
    world.close()


def with_pending_receives(world: World, count: int) -> socket.socket:
    """Register connection "0" whose peer has sent ``count`` messages; the peer."""
    ours, theirs = socket_pair()
    theirs.sendall(b"".join(frame(b"%d" % i) for i in range(count)))
    world.selector.register("0", ours)
    return theirs


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.ported("SelectorTest.testExpireConnectionWithPendingReceives")
def test_expire_connection_with_pending_receives(world: World, closed: bool) -> None:
    theirs = with_pending_receives(world, 5)
    poll_until(world.selector, lambda: bool(world.selector.completed_receives()))
    channel = world.selector.channels["0"]
    if closed:
        theirs.close()
    world.selector.mute("0")
    world.time.sleep(IDLE_MS + 1000)
    world.selector.poll(0)
    assert world.selector.disconnected() == {"0": ChannelState.EXPIRED}
    assert (world.selector.channel("0"), world.selector.closing_channel("0")) == (None, None)
    assert channel.state() is ChannelState.EXPIRED
    theirs.close()


@pytest.mark.ported("SelectorTest.testCloseOldestConnectionWithMultiplePendingReceives")
def test_pipelined_messages_come_one_by_one_and_keep_the_connection(world: World) -> None:
    with with_pending_receives(world, 5):
        found: list[bytes] = []
        while len(found) < 5:
            world.time.sleep(IDLE_MS + 1000)
            world.selector.poll(1000)
            assert world.selector.disconnected() == {}
            received = [text(r) for r in world.selector.completed_receives()]
            assert len(received) <= 1
            found += received
        assert found == [b"0", b"1", b"2", b"3", b"4"]
        world.time.sleep(IDLE_MS + 1000)
        world.selector.poll(0)
        assert world.selector.disconnected() == {"0": ChannelState.EXPIRED}


@pytest.mark.ported("SelectorTest.testGracefulClose")
def test_graceful_close_hands_out_what_has_arrived(world: World) -> None:
    theirs = with_pending_receives(world, 20)
    theirs.close()
    found = []
    for _ in range(100):
        world.selector.poll(100)
        found += [text(r) for r in world.selector.completed_receives()]
        if world.selector.disconnected():
            break
    assert found == [b"%d" % i for i in range(20)]
    assert list(world.selector.disconnected()) == ["0"]


def test_a_closing_channel_waits_for_the_answer_before_the_next_request(world: World) -> None:
    theirs = with_pending_receives(world, 3)
    selector = world.selector
    poll_until(selector, lambda: bool(selector.completed_receives()))
    selector.mute("0")
    theirs.close()
    for _ in range(3):
        selector.poll(10)
        assert (selector.disconnected(), list(selector.completed_receives())) == ({}, [])
    selector.unmute("0")
    poll_until(selector, lambda: bool(selector.completed_receives()))
    assert [text(r) for r in selector.completed_receives()] == [b"1"]


@pytest.mark.ported("SelectorTest.testPartialReceiveGracefulClose")
def test_graceful_close_does_not_wait_for_the_rest_of_a_message(world: World) -> None:
    ours, theirs = socket_pair()
    theirs.sendall(struct.pack(">i", 100_000) + b"ab")
    world.selector.register("0", ours)
    world.selector.poll(1000)
    theirs.close()
    poll_until(world.selector, lambda: "0" in world.selector.disconnected())
    assert not world.selector.completed_receives()


def test_a_failed_write_is_told_as_a_disconnect(world: World) -> None:
    ours, theirs = socket_pair()
    world.selector.register("0", ours)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.sendall(frame(b"x"))
    poll_until(world.selector, lambda: bool(world.selector.completed_receives()))
    world.selector.mute("0")
    theirs.close()
    world.selector.send(NetworkSend("0", b"y"))
    poll_until(world.selector, lambda: "0" in world.selector.disconnected())


@pytest.mark.parametrize("head", [b"\xff\xff\xff\xff", b"\x80\0\0\0"])
def test_a_bad_size_closes_that_connection_only(world: World, server: EchoServer, head: bytes) -> None:
    connect(world.selector, "1", server.address)
    ours, theirs = socket_pair()
    with theirs:
        world.selector.register("0", ours)
        theirs.sendall(head)
        poll_until(world.selector, lambda: "0" in world.selector.disconnected())
        assert list(world.selector.channels) == ["1"]
        assert request(world.selector, "1", b"fine") == b"fine"


@pytest.mark.ported("SelectorTest.testMuteOnOOM")
def test_mute_on_out_of_memory() -> None:
    pool = SimpleMemoryPool(900, 900, False)
    world = World(pool)
    selector = world.selector
    pairs = [socket_pair() for _ in range(2)]
    for id, (ours, theirs) in zip("XY", pairs, strict=True):
        theirs.sendall(frame(bytes(900)))
        selector.register(id, ours)
    poll_until(selector, lambda: bool(selector.completed_receives()))
    first = list(selector.completed_receives())
    assert len(first) == 1
    assert (pool.available_memory(), selector.is_out_of_memory()) == (0, True)
    selector.poll(10)
    assert (list(selector.completed_receives()), pool.available_memory()) == ([], 0)
    first[0].close()
    assert pool.available_memory() == 900
    poll_until(selector, lambda: bool(selector.completed_receives()))
    assert [r.source() for r in selector.completed_receives()] != [first[0].source()]
    assert (pool.available_memory(), selector.is_out_of_memory()) == (0, False)
    world.close()
    for _, theirs in pairs:
        theirs.close()


def test_memory_that_comes_back_is_used_by_the_next_poll() -> None:
    pool = SimpleMemoryPool(900, 900, False)
    world = World(pool)
    pairs = [socket_pair() for _ in range(2)]
    for id, (ours, theirs) in zip("XY", pairs, strict=True):
        theirs.sendall(frame(bytes(900)))
        world.selector.register(id, ours)
    poll_until(world.selector, lambda: world.selector.is_out_of_memory())
    (first,) = world.selector.completed_receives()
    world.selector.poll(0)
    first.close()
    # all of the second message has been read into the channel's buffer: its socket will never be ready
    world.selector.poll(20)
    (second,) = world.selector.completed_receives()
    assert second.source() != first.source()
    world.close()
    for _, theirs in pairs:
        theirs.close()


def test_an_answer_that_goes_out_at_once_keeps_the_connection(world: World) -> None:
    ours, theirs = socket_pair()
    selector = world.selector
    selector.register("0", ours)
    with theirs:
        theirs.sendall(frame(b"x"))
        poll_until(selector, lambda: bool(selector.completed_receives()))
        selector.mute("0")
        world.time.sleep(IDLE_MS - 1000)
        selector.send(NetworkSend("0", b"late answer"))
        selector.collect_completed_sends()
        assert len(selector.completed_sends()) == 1
        selector.unmute("0")
        selector.poll(0)
        world.time.sleep(IDLE_MS - 1000)
        selector.poll(0)
        assert selector.disconnected() == {}
        world.time.sleep(2000)
        selector.poll(0)
        assert selector.disconnected() == {"0": ChannelState.EXPIRED}


def test_a_request_over_a_connection_that_was_idle_for_long_is_sent(world: World, server: EchoServer) -> None:
    connect(world.selector, "1", server.address)
    world.time.sleep(IDLE_MS + 1000)  # nobody polled: nobody could close it
    assert request(world.selector, "1", b"after a pause") == b"after a pause"


def test_a_closed_connection_is_not_kept_in_the_order_of_expiry(world: World) -> None:
    ours, theirs = socket_pair()
    with theirs:
        world.selector.register("0", ours)
        world.selector.send(NetworkSend("0", b"x"))
        world.selector.close("0")
        world.selector.poll(0)
        assert world.selector.lowest_priority_channel() is None
        world.time.sleep(IDLE_MS + 1000)
        world.selector.poll(0)
        assert world.selector.disconnected() == {}


@pytest.mark.ported("SelectorTest.testInboundConnectionsCountInConnectionCreationMetric")
def test_connections_are_counted(world: World, server: EchoServer) -> None:
    peers = []
    for id in "012":
        ours, theirs = socket_pair()
        peers.append(theirs)
        world.selector.register(id, ours)
    connect(world.selector, "3", server.address)
    assert (world.value("connection-creation-total"), world.value("connection-count")) == (4, 4)
    world.selector.close("1")
    assert (world.value("connection-close-total"), world.value("connection-count")) == (1, 3)
    for peer in peers:
        peer.close()


@pytest.mark.ported("SelectorTest.testConnectionsByClientMetric")
def test_connections_by_client(world: World) -> None:
    ours, theirs = socket_pair()
    with theirs:
        world.selector.register("0", ours)
        unknown = {"clientSoftwareName": "unknown", "clientSoftwareVersion": "unknown"}
        known = {"clientSoftwareName": "A", "clientSoftwareVersion": "B"}
        world.selector.poll(0)  # the gauges change with a poll
        assert world.value("connections", **unknown) == 1
        registry = world.selector.channels["0"].channel_metadata_registry()
        registry.register_client_information(ClientInformation("A", "B"))
        world.selector.poll(0)
        assert world.value("connections", **known) == 1
        with pytest.raises(KeyError):
            world.value("connections", **unknown)
        world.selector.close("0")
        world.selector.poll(0)
        with pytest.raises(KeyError):
            world.value("connections", **known)


@pytest.mark.ported("SelectorTest.testLowestPriorityChannel")
def test_lowest_priority_channel(world: World, server: EchoServer) -> None:
    selector = world.selector
    assert selector.lowest_priority_channel() is None
    for id in "01234":
        connect(selector, id, server.address)
    for id in "4310":
        assert request(selector, id, b"") == b""
        world.time.sleep(10)
    lowest = selector.lowest_priority_channel()
    assert lowest is not None
    assert lowest.id == "2"
    selector.closing_channels()["3"] = selector.channels["3"]
    lowest = selector.lowest_priority_channel()
    assert lowest is not None
    assert lowest.id == "3"
    del selector.closing_channels()["3"]


@pytest.mark.ported("SelectorTest.testWriteCompletesSendWithNoBytesWritten")
def test_write_may_complete_a_send_without_bytes(world: World) -> None:
    send = NetworkSend("1", b"")

    class Channel:
        id = "1"

        def write(self) -> int:
            return 0

        def maybe_complete_send(self) -> NetworkSend:
            return send

    world.selector.write(cast("Any", Channel()))
    assert world.selector.completed_sends() == [send]


def test_poll_refuses_a_negative_timeout(world: World) -> None:
    with pytest.raises(ValueError, match="timeout should be >= 0"):
        world.selector.poll(-1)
    with pytest.raises(ValueError, match="timeout should be >= 0"):
        world.selector.select(-1)


def test_time_in_select_is_the_io_wait_ratio(world: World) -> None:
    world.selector._sensors.select_time.record(7_500_000_000, world.time.milliseconds())
    world.time.sleep(15_000)
    assert world.value("io-wait-ratio") == pytest.approx(7.5 / 45)  # as if the first window were full, as Kafka reckons
    assert world.value("io-wait-time-ns-avg") == 7.5e9
    world.time.sleep(60_000)
    assert world.value("io-wait-ratio") == 0


def test_a_muted_connection_with_buffered_requests_is_polled_again_when_unmuted(world: World) -> None:
    with with_pending_receives(world, 3):
        selector = world.selector
        poll_until(selector, lambda: bool(selector.completed_receives()))
        selector.mute("0")
        selector.poll(0)
        assert not selector.completed_receives()
        selector.unmute("0")
        selector.poll(60_000)
        assert [text(r) for r in selector.completed_receives()] == [b"1"]
        assert "buffered=1" in repr(selector)
        key = selector.channels["0"].selection_key()
        assert key.interest == OP_READ
