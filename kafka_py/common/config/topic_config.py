"""Names and documentation of the options a topic can have.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/TopicConfig.java @ 1.1.1
"""

# ruff: noqa: E501
# One line per text keeps name and documentation together.

from __future__ import annotations


class TopicConfig:
    """The keys of a topic's configuration, each with a sentence on what it does.

    Mirrors: org.apache.kafka.common.config.TopicConfig
    """

    # fmt: off
    SEGMENT_BYTES_CONFIG = "segment.bytes"
    SEGMENT_BYTES_DOC = "Size at which the active segment file is closed and a new one begun. Retention removes whole segments, so larger ones mean coarser retention."
    SEGMENT_MS_CONFIG = "segment.ms"
    SEGMENT_MS_DOC = "Age at which the active segment is closed even if it is not full, so that retention and compaction can get at old data."
    SEGMENT_JITTER_MS_CONFIG = "segment.jitter.ms"
    SEGMENT_JITTER_MS_DOC = "Upper bound of the random time taken off segment.ms, so that many partitions do not begin new segments at the same moment."
    SEGMENT_INDEX_BYTES_CONFIG = "segment.index.bytes"
    SEGMENT_INDEX_BYTES_DOC = "Room for the index that maps offsets to file positions. The file is created at this size and cut to its content when the segment is closed."
    FLUSH_MESSAGES_INTERVAL_CONFIG = "flush.messages"
    FLUSH_MESSAGES_INTERVAL_DOC = "Number of records after which an fsync is forced: 1 means one per record. Replication is the usual and faster way to durability."
    FLUSH_MS_CONFIG = "flush.ms"
    FLUSH_MS_DOC = "Time in milliseconds after which an fsync is forced. Replication is the usual and faster way to durability."
    RETENTION_BYTES_CONFIG = "retention.bytes"
    RETENTION_BYTES_DOC = "Size above which the oldest segments of a partition are removed under the delete policy; -1 sets no limit. It counts per partition."
    RETENTION_MS_CONFIG = "retention.ms"
    RETENTION_MS_DOC = "Age above which segments are removed under the delete policy: the time consumers have to read. -1 sets no limit."
    MAX_MESSAGE_BYTES_CONFIG = "max.message.bytes"
    MAX_MESSAGE_BYTES_DOC = "Largest record batch the broker accepts, in bytes. In the two older formats the limit holds for each uncompressed record."
    INDEX_INTERVAL_BYTES_CONFIG = "index.interval.bytes"
    INDEX_INTERVAL_BYTES_DOCS = "Bytes of log between two entries of the offset index. Smaller means more exact look-ups and a larger index."
    FILE_DELETE_DELAY_MS_CONFIG = "file.delete.delay.ms"
    FILE_DELETE_DELAY_MS_DOC = "Time between renaming a file to .deleted and removing it, so that readers can finish."
    DELETE_RETENTION_MS_CONFIG = "delete.retention.ms"
    DELETE_RETENTION_MS_DOC = "How long tombstones stay in a compacted topic: a reader that starts at offset 0 must be done within this time to see every deletion."
    MIN_COMPACTION_LAG_MS_CONFIG = "min.compaction.lag.ms"
    MIN_COMPACTION_LAG_MS_DOC = "Time for which a record is safe from compaction."
    MIN_CLEANABLE_DIRTY_RATIO_CONFIG = "min.cleanable.dirty.ratio"
    MIN_CLEANABLE_DIRTY_RATIO_DOC = "Share of the log that must be uncompacted before compaction is worth its work; it bounds the space duplicates take."
    CLEANUP_POLICY_CONFIG = "cleanup.policy"
    CLEANUP_POLICY_COMPACT = "compact"
    CLEANUP_POLICY_DELETE = "delete"
    CLEANUP_POLICY_DOC = "What happens to old segments: \"delete\" drops them by age or size, \"compact\" keeps the last record of each key; both may be given."
    UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG = "unclean.leader.election.enable"
    UNCLEAN_LEADER_ELECTION_ENABLE_DOC = "Whether a replica outside the ISR may become leader when nobody else is left, at the price of losing records."
    MIN_IN_SYNC_REPLICAS_CONFIG = "min.insync.replicas"
    MIN_IN_SYNC_REPLICAS_DOC = "With acks=all: the size the ISR must have for a write to be accepted, else NotEnoughReplicas or NotEnoughReplicasAfterAppend is answered."
    COMPRESSION_TYPE_CONFIG = "compression.type"
    COMPRESSION_TYPE_DOC = "Codec of the stored batches: gzip, snappy, lz4, uncompressed, or producer, which keeps what was sent."
    PREALLOCATE_CONFIG = "preallocate"
    PREALLOCATE_DOC = "Whether a new segment file is created at its full size."
    MESSAGE_FORMAT_VERSION_CONFIG = "message.format.version"
    MESSAGE_FORMAT_VERSION_DOC = "Record format written to the log, named by a broker version such as 0.10.0 or 1.1. Everything stored must be of that format or an older one."
    MESSAGE_TIMESTAMP_TYPE_CONFIG = "message.timestamp.type"
    MESSAGE_TIMESTAMP_TYPE_DOC = "Whose clock a record's timestamp is: the producer's (CreateTime) or the broker's at append (LogAppendTime)."
    MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_CONFIG = "message.timestamp.difference.max.ms"
    MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_DOC = "Largest distance allowed between a CreateTime timestamp and the broker's clock; records beyond it are refused."
    # fmt: on
