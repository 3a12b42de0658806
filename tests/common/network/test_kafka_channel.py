"""One connection: its mute states, its send and its receive."""

from __future__ import annotations

import itertools

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.memory.simple_memory_pool import SimpleMemoryPool
from kafka_py.common.network.channel_metadata_registry import DefaultChannelMetadataRegistry
from kafka_py.common.network.kafka_channel import TRANSITIONS, ChannelMuteEvent, ChannelMuteState, KafkaChannel
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.network.plaintext_channel_builder import PlaintextAuthenticator
from kafka_py.common.security.authenticator.default_kafka_principal_builder import DefaultKafkaPrincipalBuilder
from tests.common.network.network_support import FakeTransport, frame, text

S, E = ChannelMuteState, ChannelMuteEvent


def channel_over(transport: FakeTransport, pool: MemoryPool = MemoryPool.NONE) -> KafkaChannel:
    return KafkaChannel(
        "0",
        transport,
        lambda: PlaintextAuthenticator(DefaultKafkaPrincipalBuilder(), transport, None),
        1024,
        pool,
        DefaultChannelMetadataRegistry(),
    )


@pytest.mark.ported("KafkaChannelTest.testSending")
def test_sending() -> None:
    transport = FakeTransport(room=[4, 64, 64])
    channel = channel_over(transport)
    send = NetworkSend("0", bytes(128))
    channel.set_send(send)
    assert channel.has_send()
    assert transport.interest & 4
    with pytest.raises(IllegalStateException, match="prior send operation still in progress, connection id is 0"):
        channel.set_send(send)
    for expected in (4, 64):
        assert channel.write() == expected
        assert channel.maybe_complete_send() is None
        assert channel.has_send()
    assert channel.write() == 64
    assert channel.maybe_complete_send() is send
    assert not channel.has_send()
    assert not transport.interest & 4
    assert channel.write() == 0
    assert channel.maybe_complete_send() is None


@pytest.mark.ported("KafkaChannelTest.testReceiving")
def test_receiving() -> None:
    message = frame(bytes(range(127)))
    transport = FakeTransport([message[:4], None, message[4:68], message[68:]])
    channel = channel_over(transport)
    for expected in (4, 64):
        assert channel.read() == expected
        assert channel.maybe_complete_receive() is None
        assert channel.current_receive() is not None
    assert channel.read() == 63
    receive = channel.maybe_complete_receive()
    assert receive is not None
    assert text(receive) == bytes(range(127))
    assert channel.current_receive() is None


@pytest.mark.parametrize(("state", "event"), list(itertools.product(S, E)))
def test_mute_state_machine(state: ChannelMuteState, event: ChannelMuteEvent) -> None:
    channel = channel_over(FakeTransport())
    channel._mute_state = state
    expected = {
        (S.MUTED, E.REQUEST_RECEIVED): S.MUTED_AND_RESPONSE_PENDING,
        (S.MUTED_AND_RESPONSE_PENDING, E.RESPONSE_SENT): S.MUTED,
        (S.MUTED_AND_RESPONSE_PENDING, E.THROTTLE_STARTED): S.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        (S.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, E.RESPONSE_SENT): S.MUTED_AND_THROTTLED,
        (S.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, E.THROTTLE_ENDED): S.MUTED_AND_RESPONSE_PENDING,
        (S.MUTED_AND_THROTTLED, E.THROTTLE_ENDED): S.MUTED,
    }.get((state, event))
    if expected is None:
        with pytest.raises(IllegalStateException, match=f"Cannot transition from {state.name} for {event.name}"):
            channel.handle_channel_mute_event(event)
        expected = state
    else:
        channel.handle_channel_mute_event(event)
        assert TRANSITIONS[event][state] is expected
    assert channel.mute_state() is expected
    assert channel.maybe_unmute() == (expected in (S.MUTED, S.NOT_MUTED))


def test_mute_tells_the_transport_and_unmute_only_when_nothing_is_pending() -> None:
    transport = FakeTransport()
    channel = channel_over(transport)
    channel.mute()
    channel.mute()
    assert (channel.is_muted(), transport.is_mute()) == (True, True)
    channel.handle_channel_mute_event(E.REQUEST_RECEIVED)
    assert not channel.maybe_unmute()
    assert transport.is_mute()
    channel.handle_channel_mute_event(E.RESPONSE_SENT)
    assert channel.maybe_unmute()
    assert (channel.is_muted(), transport.is_mute()) == (False, False)


def test_a_disconnected_channel_still_follows_its_mute_states() -> None:
    transport = FakeTransport()
    channel = channel_over(transport)
    channel.disconnect()
    channel.mute()
    assert (channel.is_muted(), transport.is_mute()) == (True, False)
    assert channel.maybe_unmute()


def test_a_channel_mutes_itself_when_the_pool_is_empty() -> None:
    pool = SimpleMemoryPool(10, 10, True)
    buffer = pool.try_allocate(10)
    transport = FakeTransport([frame(b"abcde")])
    channel = channel_over(transport, pool)
    assert channel.read() == 4
    assert channel.is_muted()
    assert channel.is_in_mutable_state()
    pool.give_back(10, buffer)
    assert channel.maybe_unmute()
    assert channel.read() == 5
    receive = channel.maybe_complete_receive()
    assert receive is not None
    assert text(receive) == b"abcde"
    assert not channel.is_in_mutable_state()


def test_network_thread_time_is_reset_when_read() -> None:
    channel = channel_over(FakeTransport())
    channel.add_network_thread_time_nanos(5)
    channel.add_network_thread_time_nanos(6)
    assert [channel.get_and_reset_network_thread_time_nanos() for _ in range(2)] == [11, 0]


def test_close_closes_all_parts_and_repr_tells_the_state() -> None:
    transport = FakeTransport([frame(b"abcde")[:6]])
    channel = channel_over(transport)
    channel.read()
    channel.close()
    assert transport.events == ["close"]
    assert repr(channel) == "KafkaChannel(id=0, state=NOT_CONNECTED, mute=NOT_MUTED)"
