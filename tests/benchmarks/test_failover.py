"""What the measurement of failovers sends, and how it reads the answers."""

from __future__ import annotations

import struct

from benchmarks import failover, frames
from benchmarks.frames import Address
from kafka_py.common.requests.produce_request import ProduceRequest


def test_one_request_carries_a_record_for_each_partition() -> None:
    batch = frames.record_batch([b"x"], 1)
    request = failover.produce_to_all("t", [3, 5], batch)
    parsed = ProduceRequest.parse(memoryview(request)[4 + 8 + 2 + len(frames.CLIENT_ID) :], 3)
    assert parsed.acks() == -1
    assert sorted(tp.partition for tp in parsed.partitions()) == [3, 5]


def answer(errors: dict[int, int]) -> bytes:
    parts = [struct.pack(">iii", 0, 1, 1), frames.string("t"), struct.pack(">i", len(errors))]
    parts += [struct.pack(">ihqq", partition, error, 0, -1) for partition, error in errors.items()]
    return b"".join(parts)


def test_partitions_without_an_error_have_accepted() -> None:
    assert failover.accepted(answer({1: 0, 2: 6, 3: 0})) == {1, 3}


class Brokers(failover.Client):
    """Two that answer from a list each; None: no answer."""

    def __init__(self, *answers: bytes | None) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[Address] = []

    def call(self, address: Address, request: bytes) -> bytes | None:
        self.asked.append(address)
        return self.answers.pop(0)


def metadata(leader: int) -> bytes:
    brokers = b"".join(struct.pack(">i", id) + frames.string("h") + struct.pack(">ih", id, -1) for id in (1, 2))
    partition = struct.pack(">hii", 0, 0, leader) + struct.pack(">i", 0) * 2
    topics = struct.pack(">ih", 1, 0) + frames.string("t") + b"\0" + struct.pack(">i", 1) + partition
    return struct.pack(">iiii", 0, 1, 0, 2) + brokers + struct.pack(">h", -1) + struct.pack(">i", 1) + topics


def test_it_asks_until_another_broker_has_taken_the_record() -> None:
    old, new = Address("h", 1), Address("h", 2)
    client = Brokers(None, metadata(1), metadata(2), answer({0: 6}), metadata(2), answer({0: 0}))
    assert failover.send_until_accepted(client, "t", {0}, [new], old) == 4
    assert client.answers == []
    assert set(client.asked) == {new}
