"""What ReplicaManager does for administrators: DeleteRecords and DescribeLogDirs.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (deleteRecords, describeLogDirs)
Read next: server/delayed_delete_records.py, cluster/partition.py (delete_records_on_leader)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import (
    InvalidTopicException,
    KafkaStorageException,
    NotLeaderForPartitionException,
    OffsetOutOfRangeException,
    PolicyViolationException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.internals.topic import Topic
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.delete_records_request import DeleteRecordsRequest
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.server.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsPartitionStatus
from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log import Log
    from kafka_py.server.hosted_partitions import HostedPartitions
    from kafka_py.server.replica_manager import ReplicaManager

    DeleteRecordsCallback = Callable[[dict[TopicPartition, DeleteRecordsResponse.PartitionResponse]], object]

# what a client can cause or has to live with: no error line
_KNOWN_DELETE_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderForPartitionException,
    OffsetOutOfRangeException,
    PolicyViolationException,
    KafkaStorageException,
)


class LogDeleteRecordsResult:
    """What became of DeleteRecords on one local log: offset asked for and low watermark, or the exception.

    Mirrors: kafka.server.LogDeleteRecordsResult
    """

    __slots__ = ("exception", "low_watermark", "requested_offset")

    def __init__(self, requested_offset: int, low_watermark: int, exception: BaseException | None = None) -> None:
        self.requested_offset = requested_offset
        self.low_watermark = low_watermark
        self.exception = exception

    @property
    def error(self) -> Errors:
        """The wire error of the exception, NONE without one."""
        return Errors.NONE if self.exception is None else Errors.for_exception(self.exception)

    def __repr__(self) -> str:
        return f"LogDeleteRecordsResult({self.requested_offset},{self.low_watermark},{self.exception!r})"


class ReplicaManagerAdmin(Logging):
    """DeleteRecords and DescribeLogDirs behind ReplicaManager.

    Thread: request handlers.
    """

    logger_name: ClassVar[str] = "kafka.server.ReplicaManager"

    def __init__(self, manager: ReplicaManager, partitions: HostedPartitions, time: Time) -> None:
        self._manager = manager
        self._partitions = partitions
        self._time = time
        self.log_ident = manager.log_ident

    def delete_records(
        self, timeout: int, offset_per_partition: Mapping[TopicPartition, int], response_callback: DeleteRecordsCallback
    ) -> None:
        """Move the log start offsets of partitions led here; the callback runs exactly once.

        It waits until all live replicas have followed, with REQUEST_TIMED_OUT after `timeout` ms.
        """
        time_before = self._time.milliseconds()
        local_results = self._delete_records_on_local_log(offset_per_partition)
        self.debug("Delete records on local log in %d ms", self._time.milliseconds() - time_before)
        response = DeleteRecordsResponse.PartitionResponse
        status = {
            tp: DeleteRecordsPartitionStatus(result.requested_offset, response(result.low_watermark, result.error))
            for tp, result in local_results.items()
        }
        if self._delayed_delete_records_required(local_results):
            delayed = DelayedDeleteRecords(timeout, status, self._manager, response_callback)
            keys = [TopicPartitionOperationKey(tp.topic, tp.partition) for tp in offset_per_partition]
            # tried at once, watched, and tried again: a follower may have fetched while the operation was made
            self._manager.delayed_delete_records_purgatory.try_complete_else_watch(delayed, keys)
        else:
            response_callback({tp: s.response_status for tp, s in status.items()})

    def _delete_records_on_local_log(
        self, offset_per_partition: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, LogDeleteRecordsResult]:
        """An error is that partition's result and does not stop the others."""
        self.trace("Delete records on local logs to offsets [%s]", offset_per_partition)
        results = {}
        for topic_partition, requested_offset in offset_per_partition.items():
            try:
                results[topic_partition] = self._delete_records_of(topic_partition, requested_offset)
            except (*_KNOWN_DELETE_ERRORS, InvalidTopicException) as e:
                results[topic_partition] = LogDeleteRecordsResult(-1, -1, e)
            except Exception as e:  # noqa: BLE001  one partition's failure must not cost the others their answer
                self.error("Error processing delete records operation on partition %s", topic_partition, exc=e)
                results[topic_partition] = LogDeleteRecordsResult(-1, -1, e)
        return results

    def _delete_records_of(self, topic_partition: TopicPartition, requested_offset: int) -> LogDeleteRecordsResult:
        if Topic.is_internal(topic_partition.topic):
            raise InvalidTopicException(f"Cannot delete records of internal topic {topic_partition.topic}")
        partition, replica = self._partitions.get_partition_and_leader_replica_if_local(topic_partition)
        offset = requested_offset
        if requested_offset == DeleteRecordsRequest.HIGH_WATERMARK:
            offset = replica.high_watermark.message_offset
        if offset < 0:
            raise OffsetOutOfRangeException(f"The offset {offset} for partition {topic_partition} is not valid")
        return LogDeleteRecordsResult(offset, partition.delete_records_on_leader(offset))

    @staticmethod
    def _delayed_delete_records_required(
        local_delete_records_results: Mapping[TopicPartition, LogDeleteRecordsResult],
    ) -> bool:
        """Whether to wait: some partition's log has moved while a replica of it has not."""
        return any(
            result.exception is None and result.low_watermark < result.requested_offset
            for result in local_delete_records_results.values()
        )

    def describe_log_dirs(
        self, partitions: Collection[TopicPartition]
    ) -> dict[str, DescribeLogDirsResponse.LogDirInfo]:
        """Size and lag of those partitions' logs by directory (absolute path); every directory is listed."""
        info = DescribeLogDirsResponse.LogDirInfo
        wanted = set(partitions)
        logs_by_dir: dict[str, list[Log]] = {}
        for log in self._manager.log_manager.all_logs:
            logs_by_dir.setdefault(log.parent_dir, []).append(log)
        result = {}
        for log_dir in self._manager.config.log_dirs:
            path = os.path.abspath(log_dir)
            try:
                if not self._manager.log_manager.is_log_dir_online(path):
                    raise KafkaStorageException(f"Log directory {path} is offline")
                logs = [log for log in logs_by_dir.get(path, ()) if log.topic_partition in wanted]
                result[path] = info(Errors.NONE, {log.topic_partition: self._replica_info(log) for log in logs})
            except KafkaStorageException:
                result[path] = info(Errors.KAFKA_STORAGE_ERROR, {})
            except Exception as e:  # noqa: BLE001  one directory's failure must not cost the others their answer
                self.error("Error while describing replica in dir %s", path, exc=e)
                result[path] = info(Errors.for_exception(e), {})
        return result

    def _replica_info(self, log: Log) -> DescribeLogDirsResponse.ReplicaInfo:
        lag = self.get_log_end_offset_lag(log.topic_partition, log.log_end_offset, log.is_future)
        return DescribeLogDirsResponse.ReplicaInfo(log.size, lag, log.is_future)

    def get_log_end_offset_lag(self, topic_partition: TopicPartition, log_end_offset: int, is_future: bool) -> int:
        """How far a log is behind: a future one behind the replica's log end, a present one behind the high watermark.

        -1 when there is no such replica here or it is offline.
        """
        replica = self._partitions.get_replica(topic_partition)
        if replica is None:
            return DescribeLogDirsResponse.INVALID_OFFSET_LAG
        if is_future:
            return replica.log_end_offset.message_offset - log_end_offset
        return max(replica.high_watermark.message_offset - log_end_offset, 0)
