"""Gives out producer ids that no other broker gives out.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/ProducerIdManager.scala @ 1.1.1
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.errors import KafkaException
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging
from kafka_py.zk.zk_data import ProducerIdBlockZNode

if TYPE_CHECKING:
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

_LONG_MAX = 2**63 - 1


class ProducerIdBlock(NamedTuple):
    """A range of ids, both ends included, and the broker that claimed it.

    Mirrors: kafka.coordinator.transaction.ProducerIdBlock
    Left out: toString -- is __str__
    """

    broker_id: int
    block_start_id: int
    block_end_id: int

    def __str__(self) -> str:
        """The text of Kafka's log lines."""
        return (
            f"(brokerId:{self.broker_id},blockStartProducerId:{self.block_start_id},"
            f"blockEndProducerId:{self.block_end_id})"
        )


class ProducerIdManager(Logging):
    """Claims blocks of 1000 ids under /latest_producer_id_block and gives them out one by one.

    Mirrors: kafka.coordinator.transaction.ProducerIdManager
    Thread: request handlers.
    Locks: _lock, which Kafka holds over the ZooKeeper calls, too: nobody can have an id before the block is there.
    """

    CURRENT_VERSION = 1
    PID_BLOCK_SIZE = 1000

    def __init__(self, broker_id: int, zk_client: KafkaZkClient) -> None:
        """Claim the first block at once."""
        self.broker_id = broker_id
        self.zk_client = zk_client
        self.log_ident = f"[ProducerId Manager {broker_id}]: "
        self._lock = ReentrantLock()
        self._current_producer_id_block = self._get_new_producer_id_block()  # guarded by: _lock
        self._next_producer_id = self._current_producer_id_block.block_start_id  # guarded by: _lock

    @classmethod
    def generate_producer_id_block_json(cls, producer_id_block: ProducerIdBlock) -> bytes:
        """The content of the znode; the bounds are text, for JSON numbers are too small for them in some readers."""
        content = {
            "version": cls.CURRENT_VERSION,
            "broker": producer_id_block.broker_id,
            "block_start": str(producer_id_block.block_start_id),
            "block_end": str(producer_id_block.block_end_id),
        }
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def parse_producer_id_block_data(cls, json_data: bytes) -> ProducerIdBlock:
        """Read what generate_producer_id_block_json wrote; raises KafkaException for anything else."""
        try:
            content = json.loads(json_data)
            block = ProducerIdBlock(int(content["broker"]), int(content["block_start"]), int(content["block_end"]))
        except (ValueError, KeyError, TypeError) as e:
            raise KafkaException(f"Failed to parse the producerId block json {json_data!r}") from e
        if block.block_end_id > _LONG_MAX:
            cls.logger.fatal("Read jason data %s contains producerIds that have exceeded long type limit", json_data)
            raise KafkaException(f"Failed to parse the producerId block json {json_data!r}")
        return block

    def _get_new_producer_id_block(self) -> ProducerIdBlock:
        """Claim the next block, again and again while other brokers are faster."""
        while True:
            data, zk_version = self.zk_client.get_data_and_version(ProducerIdBlockZNode.path)
            if not data:  # the znode is made empty with the other top level paths
                self.debug(
                    "There is no producerId block yet (Zk path version %s), creating the first block", zk_version
                )
                block = ProducerIdBlock(self.broker_id, 0, self.PID_BLOCK_SIZE - 1)
            else:
                current = self.parse_producer_id_block_data(data)
                self.debug("Read current producerId block %s, Zk path version %s", current, zk_version)
                if current.block_end_id > _LONG_MAX - self.PID_BLOCK_SIZE:
                    self.fatal(
                        "Exhausted all producerIds as the next block's end producerId is will has exceeded long type "
                        "limit (current block end producerId is %s)",
                        current.block_end_id,
                    )
                    raise KafkaException("Have exhausted all producerIds.")
                block = ProducerIdBlock(
                    self.broker_id, current.block_end_id + 1, current.block_end_id + self.PID_BLOCK_SIZE
                )
            succeeded, version = self.zk_client.conditional_update_path(
                ProducerIdBlockZNode.path,
                self.generate_producer_id_block_json(block),
                zk_version,
                self._check_producer_id_block_zk_data,
            )
            if succeeded:
                self.info("Acquired new producerId block %s by writing to Zk with path version %s", block, version)
                return block

    def _check_producer_id_block_zk_data(
        self, zk_client: KafkaZkClient, path: str, expected_data: bytes
    ) -> tuple[bool, int]:
        """Whether a write whose answer was lost did arrive; and the znode's version."""
        try:
            data, zk_version = zk_client.get_data_and_version(path)
            if not data:
                return False, -1
            expected = self.parse_producer_id_block_data(expected_data)
            return self.parse_producer_id_block_data(data) == expected, zk_version
        except KafkaException as e:
            self.warn(
                "Error while checking for producerId block Zk data on path %s: expected data %s",
                path,
                expected_data.decode(errors="replace"),
                exc=e,
            )
            return False, -1

    def generate_producer_id(self) -> int:
        """The next id; claims a new block when this one is used up."""
        with self._lock:
            if self._next_producer_id > self._current_producer_id_block.block_end_id:
                self._current_producer_id_block = self._get_new_producer_id_block()
                self._next_producer_id = self._current_producer_id_block.block_start_id
            producer_id = self._next_producer_id
            self._next_producer_id += 1
            return producer_id

    def shutdown(self) -> None:
        """Say which id was the last."""
        with self._lock:
            self.info("Shutdown complete: last producerId assigned %s", self._next_producer_id)
