"""Settings of the offsets topic and of commits.

Mirrors: core/src/main/scala/kafka/coordinator/group/OffsetConfig.scala @ 1.1.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kafka_py.common.record.compression_type import CompressionType


@dataclass(frozen=True)
class OffsetConfig:
    """How offsets are kept.

    `max_metadata_size`: bytes of text beside an offset; `load_buffer_size`: bytes read at a time when a partition of
    the offsets topic is loaded; `offsets_retention_ms`: how long after its group became empty (without a group: after
    its commit) an offset is kept, looked at every `offsets_retention_check_interval_ms`; `offset_commit_timeout_ms`:
    how long a commit may wait for the replicas. The rest is what the topic is created with. Codec and acks should stay
    as they are: a batch is one commit, and -1 is what makes it last.

    Mirrors: kafka.coordinator.group.OffsetConfig
    """

    DEFAULT_MAX_METADATA_SIZE: ClassVar[int] = 4096
    DEFAULT_LOAD_BUFFER_SIZE: ClassVar[int] = 5 * 1024 * 1024
    DEFAULT_OFFSET_RETENTION_MS: ClassVar[int] = 24 * 60 * 60 * 1000
    DEFAULT_OFFSETS_RETENTION_CHECK_INTERVAL_MS: ClassVar[int] = 600_000
    DEFAULT_OFFSETS_TOPIC_NUM_PARTITIONS: ClassVar[int] = 50
    DEFAULT_OFFSETS_TOPIC_SEGMENT_BYTES: ClassVar[int] = 100 * 1024 * 1024
    DEFAULT_OFFSETS_TOPIC_REPLICATION_FACTOR: ClassVar[int] = 3
    DEFAULT_OFFSETS_TOPIC_COMPRESSION_CODEC: ClassVar[CompressionType] = CompressionType.NONE
    DEFAULT_OFFSET_COMMIT_TIMEOUT_MS: ClassVar[int] = 5000
    DEFAULT_OFFSET_COMMIT_REQUIRED_ACKS: ClassVar[int] = -1

    max_metadata_size: int = DEFAULT_MAX_METADATA_SIZE
    load_buffer_size: int = DEFAULT_LOAD_BUFFER_SIZE
    offsets_retention_ms: int = DEFAULT_OFFSET_RETENTION_MS
    offsets_retention_check_interval_ms: int = DEFAULT_OFFSETS_RETENTION_CHECK_INTERVAL_MS
    offsets_topic_num_partitions: int = DEFAULT_OFFSETS_TOPIC_NUM_PARTITIONS
    offsets_topic_segment_bytes: int = DEFAULT_OFFSETS_TOPIC_SEGMENT_BYTES
    offsets_topic_replication_factor: int = DEFAULT_OFFSETS_TOPIC_REPLICATION_FACTOR
    offsets_topic_compression_codec: CompressionType = DEFAULT_OFFSETS_TOPIC_COMPRESSION_CODEC
    offset_commit_timeout_ms: int = DEFAULT_OFFSET_COMMIT_TIMEOUT_MS
    offset_commit_required_acks: int = DEFAULT_OFFSET_COMMIT_REQUIRED_ACKS
