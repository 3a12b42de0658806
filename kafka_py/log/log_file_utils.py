"""Names of the files and directories of a log.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (part of `object Log`; 3.7.1 has a LogFileUtils too)

    <topic>-<partition>/                          a log
    <topic>-<partition>.<32 hex digits>-delete/   a log to be deleted
    <topic>-<partition>.<32 hex digits>-future/   a log that is being moved to another disk
        00000000000000000042.log                  segment whose first offset is 42 or later
        00000000000000000042.index                .timeindex .txnindex: its indexes
        00000000000000000042.snapshot             producer state before offset 42
        *.deleted *.cleaned *.swap                see Log
"""

from __future__ import annotations

import os
import pathlib
import re
import uuid
from typing import ClassVar

from kafka_py.common.errors import KafkaException
from kafka_py.common.topic_partition import TopicPartition


class LogFileUtils:
    """Builds and takes apart the names of a log's files. Log has these functions, too, as `object Log` does.

    Thread: any; there is no state.
    """

    LOG_FILE_SUFFIX: ClassVar[str] = ".log"
    INDEX_FILE_SUFFIX: ClassVar[str] = ".index"
    TIME_INDEX_FILE_SUFFIX: ClassVar[str] = ".timeindex"
    PRODUCER_SNAPSHOT_FILE_SUFFIX: ClassVar[str] = ".snapshot"
    TXN_INDEX_FILE_SUFFIX: ClassVar[str] = ".txnindex"
    DELETED_FILE_SUFFIX: ClassVar[str] = ".deleted"  # will be unlinked soon
    CLEANED_FILE_SUFFIX: ClassVar[str] = ".cleaned"  # being written by the cleaner
    SWAP_FILE_SUFFIX: ClassVar[str] = ".swap"  # complete, about to replace segments
    CLEAN_SHUTDOWN_FILE: ClassVar[str] = ".kafka_cleanshutdown"
    DELETE_DIR_SUFFIX: ClassVar[str] = "-delete"
    FUTURE_DIR_SUFFIX: ClassVar[str] = "-future"
    UNKNOWN_LOG_START_OFFSET: ClassVar[int] = -1

    _DELETE_DIR_PATTERN: ClassVar[re.Pattern[str]] = re.compile(r"(\S+)-(\S+)\.(\S+)-delete")
    _FUTURE_DIR_PATTERN: ClassVar[re.Pattern[str]] = re.compile(r"(\S+)-(\S+)\.(\S+)-future")

    @staticmethod
    def filename_prefix_from_offset(offset: int) -> str:
        """The offset in 20 digits, so that file names sort as offsets do."""
        return f"{offset:020d}"

    @staticmethod
    def log_file(dir: str | os.PathLike[str], offset: int, suffix: str = "") -> pathlib.Path:
        """The segment file of `offset` in `dir`."""
        return pathlib.Path(dir, f"{offset:020d}.log{suffix}")

    @staticmethod
    def offset_index_file(dir: str | os.PathLike[str], offset: int, suffix: str = "") -> pathlib.Path:
        """The offset index file of `offset` in `dir`."""
        return pathlib.Path(dir, f"{offset:020d}.index{suffix}")

    @staticmethod
    def time_index_file(dir: str | os.PathLike[str], offset: int, suffix: str = "") -> pathlib.Path:
        """The time index file of `offset` in `dir`."""
        return pathlib.Path(dir, f"{offset:020d}.timeindex{suffix}")

    @staticmethod
    def transaction_index_file(dir: str | os.PathLike[str], offset: int, suffix: str = "") -> pathlib.Path:
        """The transaction index file of `offset` in `dir`."""
        return pathlib.Path(dir, f"{offset:020d}.txnindex{suffix}")

    @staticmethod
    def producer_snapshot_file(dir: str | os.PathLike[str], offset: int) -> pathlib.Path:
        """The snapshot of the producer state before `offset`."""
        return pathlib.Path(dir, f"{offset:020d}.snapshot")

    @classmethod
    def log_delete_dir_name(cls, topic_partition: TopicPartition) -> str:
        """A new directory name for a log that is to be deleted."""
        return cls._log_dir_name_with_suffix(topic_partition, cls.DELETE_DIR_SUFFIX)

    @classmethod
    def log_future_dir_name(cls, topic_partition: TopicPartition) -> str:
        """A new directory name for a log that is being moved here."""
        return cls._log_dir_name_with_suffix(topic_partition, cls.FUTURE_DIR_SUFFIX)

    @classmethod
    def _log_dir_name_with_suffix(cls, topic_partition: TopicPartition, suffix: str) -> str:
        return f"{cls.log_dir_name(topic_partition)}.{uuid.uuid4().hex}{suffix}"

    @staticmethod
    def log_dir_name(topic_partition: TopicPartition) -> str:
        """The directory name of a partition."""
        return f"{topic_partition.topic}-{topic_partition.partition}"

    @staticmethod
    def offset_from_file(file: str | os.PathLike[str]) -> int:
        """The offset in a file's name; raises ValueError if there is none."""
        return int(pathlib.Path(file).name.partition(".")[0])

    @classmethod
    def parse_topic_partition_name(cls, dir: str | os.PathLike[str] | None) -> TopicPartition:
        """Topic and partition of a log directory's name; raises KafkaException for any other directory."""
        if dir is None:
            raise KafkaException("dir should not be null")
        path = pathlib.Path(dir)
        name = path.name

        def exception() -> KafkaException:
            return KafkaException(
                f"Found directory {path.resolve()}, '{path.name}' is not in the form of topic-partition or "
                "topic-partition.uniqueId-delete (if marked for deletion).\n"
                "Kafka's log directories (and children) should only contain Kafka topic data."
            )

        is_delete, is_future = name.endswith(cls.DELETE_DIR_SUFFIX), name.endswith(cls.FUTURE_DIR_SUFFIX)
        if "-" not in name:
            raise exception()
        if is_delete and not cls._DELETE_DIR_PATTERN.fullmatch(name):
            raise exception()
        if is_future and not cls._FUTURE_DIR_PATTERN.fullmatch(name):
            raise exception()
        if is_delete or is_future:
            name = name[: name.rindex(".")]
        topic, _, partition = name.rpartition("-")
        if not topic or not re.fullmatch(r"[+-]?[0-9]+", partition) or int(partition) > 2**31 - 1:
            raise exception()
        return TopicPartition(topic, int(partition))

    @classmethod
    def is_index_file(cls, file: str | os.PathLike[str]) -> bool:
        """Whether it is called like an index of whatever kind."""
        name = os.fspath(file)
        return name.endswith((cls.INDEX_FILE_SUFFIX, cls.TIME_INDEX_FILE_SUFFIX, cls.TXN_INDEX_FILE_SUFFIX))

    @classmethod
    def is_log_file(cls, file: str | os.PathLike[str]) -> bool:
        """Whether it is called like a segment's file of batches."""
        return os.fspath(file).endswith(cls.LOG_FILE_SUFFIX)

    @staticmethod
    def delete_tree(directory: str | os.PathLike[str]) -> None:
        """Delete a directory and all in it; nothing if it does not exist. Raises OSError."""
        for root, dirs, files in os.walk(directory, topdown=False):
            for name in files:
                os.unlink(os.path.join(root, name))
            for name in dirs:
                os.rmdir(os.path.join(root, name))
        if os.path.isdir(directory):
            os.rmdir(directory)
