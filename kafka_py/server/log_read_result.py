"""Results that ReplicaManager hands on for one partition of a Produce or a Fetch.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (its case classes; a module of their own,
         since Partition needs LogReadResult and ReplicaManager needs Partition)
Read next: server/replica_manager.py, which exports them too
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import InvalidRecordException, InvalidTimestampException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata

if TYPE_CHECKING:
    from kafka_py.common.record.records import Records
    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.log.log_append_info import LogAppendInfo

_NONE = Errors.NONE


class LogAppendResult:
    """What became of an append to one partition: offsets and times, or the exception.

    Mirrors: kafka.server.LogAppendResult
    """

    __slots__ = ("exception", "info")

    def __init__(self, info: LogAppendInfo, exception: BaseException | None = None) -> None:
        self.info = info
        self.exception = exception

    @property
    def error(self) -> Errors:
        """The wire error of the exception, NONE without one."""
        return _NONE if self.exception is None else Errors.for_exception(self.exception)

    @property
    def error_message(self) -> str | None:
        """Why the records were refused, if it was for what they contain (KIP-467)."""
        e = self.exception
        return str(e) if isinstance(e, (InvalidRecordException, InvalidTimestampException)) else None

    def __repr__(self) -> str:
        return f"LogAppendResult({self.info},{self.exception!r})"


class LogReadResult:
    """What was read from one partition, with the leader's offsets as they were just before the read.

    Mirrors: kafka.server.LogReadResult
    Left out: toString -- `__repr__`
    """

    __slots__ = (
        "exception",
        "fetch_time_ms",
        "follower_log_start_offset",
        "high_watermark",
        "info",
        "last_stable_offset",
        "leader_log_end_offset",
        "leader_log_start_offset",
        "read_size",
    )

    UNKNOWN_LOG_READ_RESULT: ClassVar[LogReadResult]

    def __init__(
        self,
        info: FetchDataInfo,
        high_watermark: int,
        leader_log_start_offset: int,
        leader_log_end_offset: int,
        follower_log_start_offset: int,
        fetch_time_ms: int,
        read_size: int,
        last_stable_offset: int | None,
        exception: BaseException | None = None,
    ) -> None:
        self.info = info
        self.high_watermark = high_watermark
        self.leader_log_start_offset = leader_log_start_offset
        self.leader_log_end_offset = leader_log_end_offset
        self.follower_log_start_offset = follower_log_start_offset
        self.fetch_time_ms = fetch_time_ms
        self.read_size = read_size
        self.last_stable_offset = last_stable_offset
        self.exception = exception

    @property
    def error(self) -> Errors:
        """The wire error of the exception, NONE without one."""
        return _NONE if self.exception is None else Errors.for_exception(self.exception)

    def with_empty_fetch_info(self) -> LogReadResult:
        """The same result without its records and with an unknown fetch offset."""
        return LogReadResult(
            FetchDataInfo(LogOffsetMetadata.UNKNOWN_OFFSET_METADATA, MemoryRecords.EMPTY),
            self.high_watermark,
            self.leader_log_start_offset,
            self.leader_log_end_offset,
            self.follower_log_start_offset,
            self.fetch_time_ms,
            self.read_size,
            self.last_stable_offset,
            self.exception,
        )

    @classmethod
    def failed(cls, read_size: int, exception: BaseException | None) -> LogReadResult:
        """A result with nothing but the exception: every offset is -1."""
        return cls(
            FetchDataInfo(LogOffsetMetadata.UNKNOWN_OFFSET_METADATA, MemoryRecords.EMPTY),
            -1,
            -1,
            -1,
            -1,
            -1,
            read_size,
            None,
            exception,
        )

    def __repr__(self) -> str:
        return (
            f"Fetch Data: [{self.info}], HW: [{self.high_watermark}], "
            f"leaderLogStartOffset: [{self.leader_log_start_offset}], "
            f"leaderLogEndOffset: [{self.leader_log_end_offset}], "
            f"followerLogStartOffset: [{self.follower_log_start_offset}], fetchTimeMs: [{self.fetch_time_ms}], "
            f"readSize: [{self.read_size}], error: [{self.error}]"
        )


LogReadResult.UNKNOWN_LOG_READ_RESULT = LogReadResult.failed(-1, None)


class FetchPartitionData:
    """One partition's part of the answer to a Fetch, before it is packed for the wire.

    Mirrors: kafka.server.FetchPartitionData
    """

    __slots__ = (
        "aborted_transactions",
        "error",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "records",
    )

    def __init__(
        self,
        error: Errors,
        high_watermark: int,
        log_start_offset: int,
        records: Records,
        last_stable_offset: int | None,
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None,
    ) -> None:
        self.error = error
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.records = records
        self.last_stable_offset = last_stable_offset
        self.aborted_transactions = aborted_transactions

    @classmethod
    def of(cls, result: LogReadResult) -> FetchPartitionData:
        """The answer that a read result becomes."""
        info = result.info
        exception = result.exception
        return cls(
            _NONE if exception is None else Errors.for_exception(exception),
            result.high_watermark,
            result.leader_log_start_offset,
            info.records,
            result.last_stable_offset,
            info.aborted_transactions,
        )

    def __repr__(self) -> str:
        return (
            f"FetchPartitionData({self.error},{self.high_watermark},{self.log_start_offset},{self.records!r},"
            f"{self.last_stable_offset},{self.aborted_transactions})"
        )
