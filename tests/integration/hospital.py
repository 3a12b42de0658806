"""A broker whose disks fall ill, what it has acknowledged, and what must be seen of it when a log directory is lost."""

from __future__ import annotations

import contextlib
import json
import pathlib
import urllib.request
from typing import Any, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from kafka_py.common.protocol.types.struct import Struct
from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.clients import create_topic, topic_name, wait_for_leaders
from tests.integration.disks import Faults
from tests.integration.support import children, wait_until, wait_until_forgotten, zookeeper
from tests.integration.wire import (
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    Connection,
    batch,
    codes,
    fetch,
    i32,
    list_offsets,
    metadata,
    produce,
    record,
    values_of,
)

DESCRIBE_LOG_DIRS = 35
LEADER_NOT_AVAILABLE, NOT_LEADER_FOR_PARTITION, KAFKA_STORAGE_ERROR = 5, 6, 56
EVENTS = "/log_dir_event_notification"
SEGMENT_BYTES = 20_000
PROPERTIES = {
    # with one broker it is never created: its partitions would count among those of a disk that fails
    "offsets.topic.replication.factor": "2",
    "log.segment.bytes": str(SEGMENT_BYTES),
    "log.index.interval.bytes": "1000",
    "log.index.size.max.bytes": "65536",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "zookeeper.session.timeout.ms": "2000",
}
# There is a topic of each kind, with a partition in each directory.
KINDS = {"plain": {}, "flushed": {"flush.messages": "1"}, "compact": {"cleanup.policy": "compact"}}


class Log(NamedTuple):
    """A partition and where it lies."""

    topic: str
    partition: int
    log_dir: pathlib.Path

    @property
    def directory(self) -> pathlib.Path:
        return self.log_dir / f"{self.topic}-{self.partition}"


class Hospital:
    """A broker, the switch of its disks, and what it has acknowledged."""

    def __init__(self, cluster: LocalCluster, faults: Faults | None = None) -> None:
        cluster.start_zookeeper()
        self._cluster = cluster
        self.broker = cluster.brokers[0]
        self.broker.properties["zookeeper.connect"] = cluster.zookeeper_connect
        self._environment = {} if faults is None else faults.environment
        self.broker.start(self._environment)
        self.ill: list[pathlib.Path] = []
        self.acked: dict[Log, dict[int, bytes]] = {}
        count = len(self.broker.log_dirs)
        self.topics = {
            kind: create_topic(self.broker.address, topic_name(kind), count, config) for kind, config in KINDS.items()
        }
        for topic in self.topics.values():
            wait_for_leaders(self.broker.address, topic, count)
        self._logs = [log for topic in self.topics.values() for log in self._logs_of(topic)]
        self._next = 1  # the first directory is never spoilt

    def _logs_of(self, topic: str) -> list[Log]:
        """As they lie in the directories now."""
        return [
            Log(topic, int(found.name.rpartition("-")[2]), log_dir)
            for log_dir in self.broker.log_dirs
            for found in log_dir.glob(f"{topic}-*")
        ]

    def next_log(self, kind: str) -> Log:
        """A log in a directory that no test has spoilt; the one of the first directory is for comparison."""
        self._next += 1
        return self.log(kind, self.broker.log_dirs[self._next - 1])

    def log(self, kind: str, log_dir: pathlib.Path) -> Log:
        (found,) = [log for log in self._logs if log.topic == self.topics[kind] and log.log_dir == log_dir]
        return found

    # -- Requests

    def call(self, api: int, version: int, body: bytes) -> Struct:
        with Connection(self.broker) as connection:
            return connection.call(api, version, body)

    def write(self, log: Log, size: int = 1000, version: int = 5) -> int:
        """Produce a record, a batch of its own; the answer's code. What is acknowledged is remembered."""
        acked = self.acked.setdefault(log, {})
        value = f"{len(acked)} of {log.directory} ".encode().ljust(size, b".")
        data = batch(record(value, key=b"%d" % len(acked)))  # each with a key of its own: compaction removes none
        body = produce(log.topic.encode(), data, log.partition, version=version)
        answer = self.call(PRODUCE, version, body)
        (code,) = codes(answer)
        if code == 0:
            (offset,) = values_of(answer, "base_offset")
            assert offset not in acked, "the offset was given before"
            acked[offset] = value
        return code

    def write_until_refused(self, log: Log) -> None:
        """Segment after segment, until the broker says that it cannot."""
        for _ in range(100):
            code = self.write(log)
            if code != 0:
                assert code == KAFKA_STORAGE_ERROR
                return
        raise AssertionError("100 records were taken by a disk that does not work")

    def write_until_the_end(self, log: Log) -> None:
        """Until the broker halts, because it has no other directory."""
        with contextlib.suppress(OSError):  # the end of a connection, or nobody there to make one to
            self.write_until_refused(log)
        wait_until(lambda: not self.broker.process.is_running, what="the broker's end")

    def read(self, log: Log, offset: int = 0) -> tuple[int, bytes]:
        """Fetch from an offset; the partition's code and the bytes of its records."""
        answer = self.call(FETCH, 7, fetch(log.topic.encode(), offset, log.partition))
        (records,) = values_of(answer, "record_set")
        return codes(answer)[-1], bytes(records or b"")

    def serves(self, log: Log) -> bool:
        """Whether a record can be written there and read again."""
        if self.write(log) != 0:
            return False
        offset = max(self.acked[log])
        code, records = self.read(log, offset)
        return code == 0 and self.acked[log][offset] in records

    def leaders(self, topic: str) -> dict[int, tuple[int, int]]:
        """Partition -> leader and error code, by Metadata."""
        (partitions,) = values_of(self.call(METADATA, 5, metadata(topic.encode())), "partition_metadata")
        return {p.get("partition"): (p.get("leader"), p.get("error_code")) for p in partitions}

    def log_dirs(self) -> dict[str, int]:
        """Directory -> error code, by DescribeLogDirs."""
        (found,) = values_of(self.call(DESCRIBE_LOG_DIRS, 0, i32(-1)), "log_dirs")
        return {info.get("log_dir"): info.get("error_code") for info in found}

    def gauge(self, name: str) -> dict[str, Any]:
        """The values of the beans with that name, by the beans' names."""
        url = f"http://127.0.0.1:{self.broker.metrics_port}/jmx?qry=*name={name}*"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return {bean["name"]: bean["Value"] for bean in json.load(answer)["beans"]}

    # -- What is to be seen of a failure

    def is_offline(self, log_dir: pathlib.Path) -> bool:
        """By the directory's gauge."""
        (found,) = [value for name, value in self.gauge("LogDirectoryOffline").items() if _names(name, log_dir)]
        return bool(found)

    def assert_lost(self, log_dir: pathlib.Path) -> None:
        """The directory is out of service, the controller has been told, and the others are in service."""
        wait_until(lambda: self.is_offline(log_dir), what=f"{log_dir} going offline")
        self.ill.append(log_dir)
        with zookeeper(self._cluster.zookeeper_connect) as client:
            # each event was made by the broker and taken away by the controller
            wait_until(lambda: client.get(EVENTS)[1].cversion >= 2 * len(self.ill), what="the event's end")
            wait_until(lambda: children(client, EVENTS) == [], what="the event's end")
        self.assert_ill(log_dir)

    def assert_ill(self, *looked_at: pathlib.Path) -> None:
        """What is ill is out of service, and says so wherever one can look; the others are in service.

        Only the partitions in the given directories are looked at, or in all that are ill.
        """
        assert list(self.gauge("OfflineLogDirectoryCount").values()) == [len(self.ill)]
        assert sum(self.gauge("LogDirectoryOffline").values()) == len(self.ill)
        assert list(self.gauge("OfflineReplicaCount").values()) == [sum(log.log_dir in self.ill for log in self._logs)]
        assert self.log_dirs() == {str(d): KAFKA_STORAGE_ERROR * (d in self.ill) for d in self.broker.log_dirs}
        for kind in KINDS:
            for log_dir in looked_at or self.ill:
                self.assert_offline(self.log(kind, log_dir))
            assert self.serves(self.log(kind, self.broker.log_dirs[0])), f"the {kind} topic in the sound directory"
        fresh = create_topic(self.broker.address, topic_name("fresh"), 3)
        wait_for_leaders(self.broker.address, fresh, 3)
        fresh_logs = self._logs_of(fresh)
        assert len(fresh_logs) == 3
        assert {log.log_dir for log in fresh_logs}.isdisjoint(self.ill)
        self._logs += fresh_logs

    def assert_offline(self, log: Log) -> None:
        """A partition that cannot be used, and says so to new clients and to old ones."""
        leaders = wait_until(lambda: self._leaders_without(log), what=f"{log} without a leader")
        assert leaders[log.partition] == (-1, LEADER_NOT_AVAILABLE)
        assert {p: found for p, found in leaders.items() if found != (0, 0)}.keys() == {
            self.log(kind, d).partition for d in self.ill for kind in KINDS if self.topics[kind] == log.topic
        }
        assert self.write(log) == KAFKA_STORAGE_ERROR
        assert self.write(log, version=3) == NOT_LEADER_FOR_PARTITION
        assert self.read(log) == (KAFKA_STORAGE_ERROR, b"")
        body = fetch(log.topic.encode(), 0, log.partition)
        without_session = body[:17] + body[25:-4]  # nor forgotten topics
        assert codes(self.call(FETCH, 5, without_session)) == [NOT_LEADER_FOR_PARTITION]
        assert self.end_offset_code(log) == KAFKA_STORAGE_ERROR

    def _leaders_without(self, log: Log) -> dict[int, tuple[int, int]] | None:
        leaders = self.leaders(log.topic)
        return leaders if leaders[log.partition][0] == -1 else None

    # -- Stopping and starting

    def stop(self) -> None:
        """A clean stop, which is noted in the sound directories, and in no other."""
        notes = [log_dir / ".kafka_cleanshutdown" for log_dir in self.broker.log_dirs]
        # the note of an earlier stop that could not be taken away is true: nothing has been written since
        old = {note for note in notes if note.exists()}
        assert self.broker.process.stop() == 0
        assert {n for n in notes if n.exists()} - old == {n for n in notes if n.parent not in self.ill}

    def kill(self) -> None:
        self.broker.process.kill()
        self.wait_until_forgotten()

    def wait_until_forgotten(self) -> None:
        """By ZooKeeper; a broker that was stopped is so at once."""
        wait_until_forgotten(self._cluster, self.broker)

    def start(self, *ill: pathlib.Path) -> None:
        """Start the broker; every partition is led but those in the directories that are ill."""
        self.ill = list(ill)
        self.broker.start(self._environment)
        for log in self._logs:
            wanted = KAFKA_STORAGE_ERROR if log.log_dir in ill else 0
            # clients are told who leads a moment before the leader itself is
            wait_until(lambda log=log, wanted=wanted: self.end_offset_code(log) == wanted, what=f"{log}")  # type: ignore[misc]

    def assert_kept(self) -> None:
        """All that was acknowledged is there, at its offset; what was refused may be there behind it; nothing else."""
        for log, acked in self.acked.items():
            stored = self.stored(log)
            assert {offset: stored.get(offset) for offset in acked} == acked
            assert sorted(stored) == list(range(len(stored)))
            assert self.serves(log)

    def end_offset_code(self, log: Log) -> int:
        """The answer's code to the question where the log ends."""
        return codes(self.call(LIST_OFFSETS, 1, list_offsets(log.topic.encode(), log.partition)))[0]

    def stored(self, log: Log) -> dict[int, bytes]:
        """Offset -> value of all that a client reads from the first offset to the last, checksums included."""
        settings = {"bootstrap.servers": self.broker.address, "group.id": "unused", "check.crcs": True}
        consumer = Consumer({**settings, "enable.auto.commit": False, "auto.offset.reset": "error"})
        found: dict[int, bytes] = {}
        try:
            where = TopicPartition(log.topic, log.partition, 0)
            end = consumer.get_watermark_offsets(where, timeout=20)[1]
            consumer.assign([where])
            while max(found, default=-1) < end - 1:
                message = consumer.poll(20)
                assert message is not None, f"{log} ends at {max(found, default=-1)} and not at {end}"
                assert message.error() is None, message.error()
                found[message.offset() or 0] = message.value() or b""
        finally:
            consumer.close()
        return found


def _names(bean: str, log_dir: pathlib.Path) -> bool:
    return bean.replace('"', "").endswith(f"logDirectory={log_dir}")
