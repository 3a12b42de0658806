"""Append these batches.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ProduceRequest.java @ 1.1.1 (versions 6 and 7 as in 2.1)
Read next: produce_response.py; server/kafka_apis.py
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, TypeAlias

from kafka_py.common.errors import (
    CorruptRecordException,
    IllegalStateException,
    InvalidRecordException,
    SchemaException,
    UnsupportedCompressionTypeException,
)
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import LONGEST_REPLACEABLE, Parts
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.produce_request_data import ProduceRequestData
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

_SHORT = struct.Struct(">h").unpack_from
_INT = struct.Struct(">i").unpack_from
_START = struct.Struct(">hii").unpack_from  # acks, timeout, number of topics
_TWO_INTS = struct.Struct(">ii").unpack_from
_new_tuple = tuple.__new__

_START_V3 = struct.Struct(">hhiih").unpack_from  # no transactional id, then as _START, and the length of a topic
_ONE_PARTITION = struct.Struct(">iii").unpack_from  # number of partitions, the partition, size of its record set

# Places in a batch of message format 2
_BATCH = struct.Struct(">8xi4xB4xh20xq").unpack_from  # length, magic, attributes, producer id
_LOG_OVERHEAD = 12
_MIN_RECORD_OVERHEAD = 14
_MAGIC_OFFSET = 16
_ATTRIBUTES_AND_PRODUCER_ID = struct.Struct(">h20xq").unpack_from
_ATTRIBUTES_OFFSET = 21
_END_OF_PRODUCER_ID = 51
_MAGIC_VALUE_V2 = 2
_COMPRESSION_CODEC_MASK = 0x07
_TRANSACTIONAL_FLAG_MASK = 0x10
_ZSTD = 4


class Builder(AbstractRequest.Builder):
    """Chooses the versions that fit the batches' format.

    Mirrors: org.apache.kafka.common.requests.ProduceRequest.Builder
    """

    def __init__(
        self,
        min_version: int,
        max_version: int,
        acks: int,
        timeout: int,
        partition_records: dict[TopicPartition, MemoryRecords],
        transactional_id: str | None,
    ) -> None:
        super().__init__(ApiKeys.PRODUCE, min_version, max_version)
        self._acks = acks
        self._timeout = timeout
        self._partition_records = partition_records
        self._transactional_id = transactional_id

    @staticmethod
    def for_current_magic(
        acks: int, timeout: int, partition_records: dict[TopicPartition, MemoryRecords]
    ) -> ProduceRequest.Builder:
        """For batches of message format 2 outside transactions."""
        return ProduceRequest.Builder.for_magic(_MAGIC_VALUE_V2, acks, timeout, partition_records, None)

    @staticmethod
    def for_magic(
        magic: int,
        acks: int,
        timeout: int,
        partition_records: dict[TopicPartition, MemoryRecords],
        transactional_id: str | None,
    ) -> ProduceRequest.Builder:
        """For batches of a message format."""
        old = magic < _MAGIC_VALUE_V2
        min_version, max_version = (2, 2) if old else (3, ApiKeys.PRODUCE.latest_version())
        return ProduceRequest.Builder(min_version, max_version, acks, timeout, partition_records, transactional_id)

    def build(self, version: int | None = None) -> ProduceRequest:
        return ProduceRequest(
            self._version_or_latest(version),
            self._acks,
            self._timeout,
            self._partition_records,
            self._transactional_id,
        )

    def __str__(self) -> str:
        return (
            f"(type=ProduceRequest, acks={self._acks}, timeout={self._timeout}, "
            f"partitionRecords=({self._partition_records}), transactionalId='{self._transactional_id or ''}'"
        )


_Builder = Builder


class ProduceRequest(AbstractRequest):
    """Batches by partition, how many replicas must have them, and for how long to wait.

    Mirrors: org.apache.kafka.common.requests.ProduceRequest
    Differs: read straight from the bytes; a record set is a slice of the message. ``is_transactional`` and
             ``is_idempotent`` tell whether any batch is (CVE-2018-17196: in 1.1.1 the last one decided, so that a
             plain batch at the end hid the others from the authorizer).
    """

    __slots__ = ("_acks", "_idempotent", "_partition_records", "_partition_sizes", "_timeout", "_transactional",
                 "_transactional_id")  # fmt: skip

    API_KEY: ClassVar[ApiKeys] = ApiKeys.PRODUCE
    LATEST: ClassVar[int] = ApiKeys.PRODUCE.latest_version()
    FLEXIBLE: ClassVar[int] = ProduceRequestData.FLEXIBLE

    Builder: TypeAlias = _Builder

    def __init__(
        self,
        version: int,
        acks: int,
        timeout: int,
        partition_records: dict[TopicPartition, MemoryRecords],
        transactional_id: str | None = None,
    ) -> None:
        self._version = version  # thread: its maker
        self._acks = acks  # thread: its maker
        self._timeout = timeout  # thread: its maker
        self._transactional_id = transactional_id  # thread: its maker
        kept: dict[TopicPartition, MemoryRecords] | None = partition_records
        self._partition_records = kept  # thread: its maker, then the handler
        sizes = {tp: records.size_in_bytes() for tp, records in partition_records.items()}
        self._partition_sizes = sizes  # thread: its maker
        self._transactional = False  # thread: its maker
        self._idempotent = False  # thread: its maker
        for records in partition_records.values():
            self._validate_records(version, records.buffer)

    @staticmethod
    def schema(version: int) -> Schema:
        """The layout at a version that is declared."""
        return ProduceRequestData.schema(version)

    @classmethod
    def _from_data(cls, data: ProduceRequestData, version: int) -> ProduceRequest:
        partition_records = {}
        for topic in data.topic_data:
            for partition in topic.data:
                if partition.record_set is None:
                    raise SchemaException("Error reading field 'record_set': null")
                tp = TopicPartition(topic.topic, partition.partition)
                partition_records[tp] = MemoryRecords.readable_records(partition.record_set)
        return cls(version, data.acks, data.timeout, partition_records, data.transactional_id)

    @classmethod
    def parse(cls, buffer: Any, version: int) -> ProduceRequest:
        """The request in a message's body; raises SchemaException or, from version 3 on, InvalidRecordException
        unless every record set is exactly one batch of message format 2.
        """
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        try:
            return cls._parse_single(view, version) or cls._parse_flat(view, version)
        except (struct.error, IndexError, SchemaException):
            # Let the schema say what is wrong with the bytes.
            return cls._from_data(ProduceRequestData.read(view, version)[0], version)

    @classmethod
    def _parse_single(cls, b: memoryview, version: int) -> ProduceRequest | None:
        """Nearly every request: one good batch of one partition, outside transactions. None for any other."""
        if not 3 <= version <= 8:
            return None
        no_id, acks, timeout, topics, n = _START_V3(b, 0)
        if no_id != -1 or topics != 1 or not 0 <= n <= LONGEST_REPLACEABLE:
            return None
        q = 14 + n
        partitions, partition, size = _ONE_PARTITION(b, q)
        p = q + 12
        if partitions != 1 or p + size != len(b) or size < _END_OF_PRODUCER_ID:
            return None
        length, magic, attributes, producer_id = _BATCH(b, p)
        if length + _LOG_OVERHEAD != size or magic != _MAGIC_VALUE_V2:
            return None
        self = _new_request(cls)
        self._version = version
        self._acks = acks
        self._timeout = timeout
        self._transactional_id = None
        self._transactional = attributes & _TRANSACTIONAL_FLAG_MASK != 0
        self._idempotent = producer_id > -1
        tp = _new_tuple(TopicPartition, (str(b[14:q], "utf-8", "replace"), partition))
        self._partition_records = {tp: MemoryRecords(b[p:])}
        self._partition_sizes = {tp: size}
        return self

    @classmethod
    def _parse_flat(cls, b: memoryview, version: int) -> ProduceRequest:
        self = _new_request(cls)
        self._version = version
        p = 0
        end = len(b)
        transactional_id = None
        if version >= 3:
            (n,) = _SHORT(b, 0)
            p = 2
            if n >= 0:
                p += n
                if p > end:
                    raise SchemaException("transactional id")
                transactional_id = str(b[2:p], "utf-8", "replace")
        self._transactional_id = transactional_id
        self._acks, self._timeout, topics = _START(b, p)
        p += 10
        self._transactional = self._idempotent = False
        partition_records: dict[TopicPartition, MemoryRecords] = {}
        partition_sizes: dict[TopicPartition, int] = {}
        readable_records = MemoryRecords.readable_records
        if topics < 0 or not 0 <= version <= 8:
            raise SchemaException("topics")
        while topics:
            topics -= 1
            (n,) = _SHORT(b, p)
            p += 2
            q = p + n
            if not 0 <= n <= LONGEST_REPLACEABLE or q > end:
                raise SchemaException("topic")
            topic = str(b[p:q], "utf-8", "replace")
            (partitions,) = _INT(b, q)
            p = q + 4
            if partitions < 0:
                raise SchemaException("partitions")
            while partitions:
                partitions -= 1
                partition, size = _TWO_INTS(b, p)
                p += 8
                q = p + size
                if size < 0 or q > end:
                    raise SchemaException("record set")
                record_set = b[p:q]
                p = q
                if version >= 3:
                    self._validate_records(version, record_set)
                tp = _new_tuple(TopicPartition, (topic, partition))
                partition_records[tp] = readable_records(record_set)
                partition_sizes[tp] = size
        self._partition_records = partition_records
        self._partition_sizes = partition_sizes
        return self

    def _validate_records(self, version: int, batch: memoryview) -> None:
        """Check that there is one batch of format 2, and note whether it is transactional or idempotent.

        Older versions are not checked: clients always sent what they liked in them.
        """
        if version < 3:
            return
        size = len(batch)
        length = _batch_length(batch, 0, size)
        if length == 0:
            raise InvalidRecordException(f"Produce requests with version {version} must have at least one record batch")
        if batch[_MAGIC_OFFSET] != _MAGIC_VALUE_V2:
            raise InvalidRecordException(
                f"Produce requests with version {version} are only allowed to contain record batches with "
                "magic version 2"
            )
        if length != size and _batch_length(batch, length, size):
            raise InvalidRecordException(
                f"Produce requests with version {version} are only allowed to contain exactly one record batch"
            )
        if length < _END_OF_PRODUCER_ID:
            raise InvalidRecordException(f"Record batch of {length} bytes ends within its header")
        attributes, producer_id = _ATTRIBUTES_AND_PRODUCER_ID(batch, _ATTRIBUTES_OFFSET)
        if producer_id > -1:
            self._idempotent = True
        if attributes & _TRANSACTIONAL_FLAG_MASK:
            self._transactional = True

    @staticmethod
    def validate_records(version: int, records: MemoryRecords) -> None:
        """Raise UnsupportedCompressionTypeException for zstd below version 7.

        What else this method checks in later Kafka was checked when the request was parsed, as in 1.1.1.
        """
        if version >= 7:
            return
        batch = records.buffer
        if len(batch) < _END_OF_PRODUCER_ID or batch[_MAGIC_OFFSET] != _MAGIC_VALUE_V2:
            return
        if _SHORT(batch, _ATTRIBUTES_OFFSET)[0] & _COMPRESSION_CODEC_MASK == _ZSTD:
            raise UnsupportedCompressionTypeException(
                f"Produce requests with version {version} are not allowed to use ZStandard compression"
            )

    def _data(self) -> ProduceRequestData:
        topics = [
            ProduceRequestData.Topic(
                topic=topic,
                data=[ProduceRequestData.Topic.Partition(partition=p, record_set=r) for p, r in records.items()],
            )
            for topic, records in group_data_by_topic(self.partition_records_or_fail()).items()
        ]
        return ProduceRequestData(
            transactional_id=self._transactional_id, acks=self._acks, timeout=self._timeout, topic_data=topics
        )

    def to_struct(self) -> Struct:
        return self._data().struct_at(self._version)

    def to_parts(self) -> Parts:
        out: Parts = []
        self._data().write(out, self._version)
        return out

    def to_string(self, verbose: bool = True) -> str:
        """As Kafka's request log has it: sizes by partition, or only their number."""
        if verbose:
            sizes = ",".join(f"{tp}={size}" for tp, size in self._partition_sizes.items())
            detail = f"partitionSizes=[{sizes}]"
        else:
            detail = f"numPartitions={len(self._partition_sizes)}"
        return f"{{acks={self._acks},timeout={self._timeout},{detail}}}"

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ProduceResponse | None:
        """The error for every partition; None for acks=0, which is not answered."""
        if self._acks == 0:
            return None
        response = ProduceResponse.PartitionResponse(Errors.for_exception(e))
        return ProduceResponse(dict.fromkeys(self._partition_sizes, response), throttle_time_ms)

    def error_counts(self, e: BaseException) -> dict[Errors, int]:
        return {Errors.for_exception(e): len(self._partition_sizes)}

    def partitions(self) -> list[TopicPartition]:
        """The partitions to append to; known also after the records were let go."""
        return list(self._partition_sizes)

    def acks(self) -> int:
        """Who must have the batches before the answer: 0 nobody, 1 the leader, -1 all in-sync replicas."""
        return self._acks

    def timeout(self) -> int:
        """How long to wait for them, in ms."""
        return self._timeout

    def transactional_id(self) -> str | None:
        """The transactional id, None outside transactions."""
        return self._transactional_id

    def is_transactional(self) -> bool:
        """Whether any batch belongs to a transaction."""
        return self._transactional

    def is_idempotent(self) -> bool:
        """Whether any batch has a producer id."""
        return self._idempotent

    def partition_records_or_fail(self) -> dict[TopicPartition, MemoryRecords]:
        """The batches by partition; IllegalStateException once they were let go."""
        partition_records = self._partition_records
        if partition_records is None:
            raise IllegalStateException(
                "The partition records are no longer available because clearPartitionRecords() has been invoked."
            )
        return partition_records

    def clear_partition_records(self) -> None:
        """Let the batches go: a request may wait long for its followers, and must not hold its buffer meanwhile."""
        self._partition_records = None

    @staticmethod
    def required_magic_for_version(produce_request_version: int) -> int:
        """The message format that a version carries; ValueError for an unknown version."""
        if produce_request_version in (0, 1):
            return 0
        if produce_request_version == 2:
            return 1
        if 3 <= produce_request_version <= 7:
            return 2
        raise ValueError(f"Magic value to use for produce request version {produce_request_version} is not known")


# __init__ is for those who make a request, not for one that came in.
_new_request = ProduceRequest.__new__


def _batch_length(batch: memoryview, position: int, end: int) -> int:
    """Bytes of the batch at a position, 0 if there is no whole one: what Kafka's ByteBufferLogInputStream finds."""
    remaining = end - position
    if remaining < _LOG_OVERHEAD:
        return 0
    (record_size,) = _INT(batch, position + 8)
    if record_size < _MIN_RECORD_OVERHEAD:
        raise CorruptRecordException(f"Record size is less than the minimum record overhead ({_MIN_RECORD_OVERHEAD})")
    length: int = record_size + _LOG_OVERHEAD
    if remaining < length:
        return 0
    magic = batch[position + _MAGIC_OFFSET]
    if magic > _MAGIC_VALUE_V2:
        raise CorruptRecordException(f"Invalid magic found in record: {magic if magic < 128 else magic - 256}")
    return length
