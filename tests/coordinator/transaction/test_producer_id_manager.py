"""Producer ids in blocks of a thousand."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.common.errors import KafkaException
from kafka_py.coordinator.transaction.producer_id_manager import ProducerIdBlock, ProducerIdManager


class FakeZk:
    """One znode, with versions; the first writes can be made to come too late."""

    def __init__(self, lost_races: int = 0) -> None:
        self.data: bytes | None = b""
        self.version = 0
        self.lost_races = lost_races

    def get_data_and_version(self, path: str) -> tuple[bytes | None, int]:
        assert path == "/latest_producer_id_block"
        return self.data, self.version

    def conditional_update_path(self, path: str, data: bytes, version: int, checker: Any) -> tuple[bool, int]:
        if self.lost_races > 0:
            self.lost_races -= 1
            self.data, self.version = data, self.version + 1
            return False, -1
        assert version == self.version
        self.data, self.version = data, self.version + 1
        assert checker(self, path, data) == (True, self.version)
        assert (
            checker(self, path, ProducerIdManager.generate_producer_id_block_json(ProducerIdBlock(9, 1, 2)))[0] is False
        )
        return True, self.version


def manager(broker_id: int, zk: FakeZk) -> ProducerIdManager:
    return ProducerIdManager(broker_id, cast("Any", zk))


@pytest.mark.ported("ProducerIdManagerTest.testGetProducerId")
def test_two_managers_never_give_out_the_same_id() -> None:
    zk = FakeZk()
    first, second = manager(0, zk), manager(1, zk)
    ids = [first.generate_producer_id() for _ in range(1000)] + [second.generate_producer_id() for _ in range(1000)]
    assert ids == list(range(2000))
    assert first.generate_producer_id() == 2000
    assert second.generate_producer_id() == 3000
    first.shutdown()


def test_a_lost_race_means_the_next_block() -> None:
    found = manager(3, FakeZk(lost_races=2))
    assert found.generate_producer_id() == 2000


@pytest.mark.ported("ProducerIdManagerTest.testExceedProducerIdLimit")
def test_ids_run_out() -> None:
    zk = FakeZk()
    zk.data = ProducerIdManager.generate_producer_id_block_json(ProducerIdBlock(0, 2**63 - 1000, 2**63 - 1))
    with pytest.raises(KafkaException, match="Have exhausted all producerIds"):
        manager(0, zk)


def test_the_znode_is_kafkas() -> None:
    block = ProducerIdBlock(4, 1000, 1999)
    text = ProducerIdManager.generate_producer_id_block_json(block)
    assert text == b'{"version":1,"broker":4,"block_start":"1000","block_end":"1999"}'
    assert ProducerIdManager.parse_producer_id_block_data(text) == block
    for bad in (b"{}", b"x", b'{"broker":1,"block_start":"1","block_end":"99999999999999999999"}'):
        with pytest.raises(KafkaException):
            ProducerIdManager.parse_producer_id_block_data(bad)
    assert str(block) == "(brokerId:4,blockStartProducerId:1000,blockEndProducerId:1999)"
