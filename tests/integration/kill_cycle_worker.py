"""The process that test_kill_cycles.py kills: a LogManager with its cleaner and scheduler over one directory.

It is started once and imports what it needs; for each line of JSON that it reads it forks a child, which

1. opens the directory, whatever state the one before left it in, and writes to a file what it found;
2. says "ready" and waits for a line, while the test looks at the directory;
3. appends, rolls, flushes, checkpoints, truncates and cleans until it is killed, or so often as it was told, and then
   shuts down cleanly.

Before each operation the child writes into the ledger what it is going to do, and afterwards that it is done. Both
are single writes, so that a kill cannot tear them. The child can also be told to kill itself before its n-th change of
the disk, of all or of some kind (class Steps): what lies between two renames is hardly ever hit from outside.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import pathlib
import random
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, NoReturn

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.log import Log
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_manager import LogManager
from kafka_py.server.broker_states import BrokerState
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.utils.kafka_scheduler import KafkaScheduler

LEADERS = ("plain", "retained", "compacted", "both", "txn", "txncompacted")
FOLLOWER = "replica"
COMPACTED = ("compacted", "both", "txncompacted")
TRANSACTIONAL = ("txn", "txncompacted")
RETENTION_BYTES = 12_000
KEYS = 24
LIFETIME_S = 50  # of a child that nobody kills, because whoever should was killed
TRANSACTIONAL_PRODUCERS = (1, 2, 3)
IDEMPOTENT_PRODUCERS = (11, 12)
CODECS = (CompressionType.NONE, CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4)
CHANGES = ("replace", "unlink", "ftruncate", "pwrite", "write", "fsync")
RENAMES = ("replace", "unlink", "ftruncate")

Entry = tuple[int, int, int]  # number of the key or -1, number of the value or -1, size of the value
_write = os.write  # of the ledger: no step


def key_bytes(number: int) -> bytes | None:
    """-1 is no key."""
    return None if number < 0 else b"k%d" % number


def value_bytes(number: int, size: int) -> bytes | None:
    """-1 is no value: a tombstone."""
    return None if number < 0 else (b"%d:" % number).ljust(size, b"x")


def topic_configs(seed: int) -> dict[str, LogConfig]:
    """The same for all children of one directory."""
    rng = random.Random(seed)

    def config(**options: object) -> LogConfig:
        props: dict[str, object] = {
            "segment.bytes": rng.choice([3_000, 4_000, 7_000]),
            "index.interval.bytes": rng.choice([1, 100, 400]),
            "segment.index.bytes": rng.choice([240, 2_400]),
            "preallocate": rng.random() < 0.3,
            "file.delete.delay.ms": rng.choice([20, 50]),
            "min.cleanable.dirty.ratio": 0.05,
            "delete.retention.ms": rng.choice([0, 50, 100_000]),
            "flush.ms": rng.choice([1, 30]),
            "flush.messages": rng.choice([1, 20, 10**6]),
        }
        props.update({name.replace("_", "."): value for name, value in options.items()})
        return LogConfig(props)

    return {
        "plain": config(),
        "retained": config(retention_bytes=RETENTION_BYTES, message_format_version="0.10.0", segment_bytes=1_500),
        "compacted": config(cleanup_policy="compact"),
        "both": config(cleanup_policy="compact,delete", retention_bytes=RETENTION_BYTES, segment_bytes=1_500),
        "txn": config(),
        "txncompacted": config(cleanup_policy="compact"),
        FOLLOWER: config(segment_bytes=2_600),
    }


# What is logged as an error though nothing is wrong: an index that a kill left unwritten is made anew, and a cleaner
# that replaces segments while everything is shut down leaves the rest to the next start.
HARMLESS = ("Could not find offset index file", "Kafka scheduler is not running")


class ErrorsToFile(logging.Handler):
    """What is logged as an error, one write for each."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(logging.ERROR)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter().format(record)
        if not any(harmless in text for harmless in HARMLESS):
            _write(self._fd, (text + "\n").encode())


class Steps:
    """Kills this process before one of its changes of the disk, or in the middle of a write.

    `where` is which changes count: those of the start ("load"), of one operation of Worker (its name), of the threads
    of the cleaner or of the scheduler (the beginning of their name), or all ("").
    """

    def __init__(self, left: int, where: str, renames_only: bool) -> None:
        self.doing = "load"
        self._left = left
        self._where = where
        for name in RENAMES if renames_only else CHANGES:
            setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **options: Any) -> Any:
            if self._counts():
                self._left -= 1
                if self._left == 0:
                    if name == "pwrite":
                        original(args[0], memoryview(args[1])[: len(args[1]) * 2 // 3], args[2])
                    os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **options)

        return call

    def is_about(self, operation: str) -> bool:
        """Whether only the changes of that operation count."""
        return self._where == operation

    def _counts(self) -> bool:
        name = threading.current_thread().name
        doing = name if name.startswith(("kafka-log-cleaner", "kafka-scheduler")) else self.doing
        return doing.startswith(self._where)


class Ledger:
    """Lines of JSON, each written at once."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, *what: object) -> None:
        _write(self._fd, json.dumps(what).encode() + b"\n")


class Worker:
    """What one child does between its start and its end."""

    def __init__(self, spec: dict[str, Any], ledger: Ledger) -> None:
        self._rng = random.Random(spec["number"] * 1000 + spec["seed"])
        self._number = spec["number"]  # of the child, which is also the leader epoch
        self._ledger = ledger
        self._value = self._number * 1_000_000
        self._configs = topic_configs(spec["seed"])
        self._scheduler = KafkaScheduler(2)
        self._scheduler.startup()
        dir = pathlib.Path(spec["dir"])
        self._high_watermarks = OffsetCheckpointFile(dir / "replication-offset-checkpoint")
        LogManager.INITIAL_TASK_DELAY_MS = 2
        self._manager = LogManager(
            log_dirs=[dir],
            initial_offline_dirs=(),
            topic_configs=self._configs,
            initial_default_config=LogConfig(),
            cleaner_config=CleanerConfig(back_off_ms=5, io_buffer_size=2_000, dedupe_buffer_size=24 * 200),
            recovery_threads_per_data_dir=2,
            flush_check_ms=15,
            flush_recovery_offset_checkpoint_ms=20,
            flush_start_offset_checkpoint_ms=20,
            retention_check_ms=10,
            max_pid_expiration_ms=3_600_000,
            scheduler=self._scheduler,
            broker_state=BrokerState(),
            broker_topic_stats=BrokerTopicStats(),
            log_dir_failure_channel=LogDirFailureChannel(10),
            time=Time.SYSTEM,
        )
        self._logs: dict[str, Log] = {}

    def describe(self) -> dict[str, Any]:
        """What the logs say after the start, by name of the partition's directory."""
        return {log.name: self._describe(log) for log in self._manager.all_logs}

    def _describe(self, log: Log) -> dict[str, Any]:
        log.on_high_watermark_incremented(log.log_end_offset)  # until then no transaction counts as replicated
        producers = log.producer_state_manager.active_producers
        start, end = log.log_start_offset, log.log_end_offset
        reads = []
        for offset in self._rng.sample(range(start, end), min(12, max(end - start, 0))):
            batch = next(iter(log.read_uncommitted(offset, 1, min_one_message=True).records.batches()), None)
            reads.append((offset, None if batch is None else (batch.base_offset(), batch.last_offset())))
        return {
            "start": start,
            "end": end,
            "recovery_point": log.recovery_point,
            "unstable": None if log.first_unstable_offset is None else log.first_unstable_offset.message_offset,
            "segments": [
                {
                    "base": s.base_offset,
                    "size": s.size,
                    "offsets": s.offset_index.entries,
                    "times": s.time_index.entries,
                    "aborted": [
                        (t.producer_id, t.first_offset, t.last_offset, t.last_stable_offset)
                        for t in s.txn_index.all_aborted_txns()
                    ],
                }
                for s in log.log_segments
            ],
            "producers": {
                pid: (e.producer_epoch, e.last_seq, e.last_data_offset, e.current_txn_first_offset)
                for pid, e in producers.items()
            },
            "epochs": [tuple(entry) for entry in log.leader_epoch_cache.epoch_entries()],
            "reads": reads,
        }

    def run(self, operations: int | None, steps: Steps | None) -> None:
        """So many operations and a clean end, or without end; most often the one that `steps` is about."""
        for topic, config in self._configs.items():
            self._logs[topic] = self._manager.get_or_create_log(TopicPartition(topic, 0), config)
        self._manager.startup()
        self._scheduler.schedule("high-watermarks", self._checkpoint_high_watermarks, 5, 10)
        for topic in TRANSACTIONAL:
            self._send_again(topic)
        choices: list[tuple[int, Callable[[], None]]] = [
            (60, self._append),
            (30, self._append_as_follower),
            (6, self._truncate),
            (1, self._restart),
            (4, self._roll),
            (4, self._flush),
            (2, self._checkpoint),
            (3, self._raise_log_start),
        ]
        calls = [call for _, call in choices]
        weights = [w * 3 if steps is not None and steps.is_about(call.__name__) else w for w, call in choices]
        done = 0
        while operations is None or done < operations:
            call = self._rng.choices(calls, weights)[0]
            if steps is not None:
                steps.doing = call.__name__
            call()
            done += 1
        self._ledger.note("stop")
        self._scheduler.shutdown()
        self._manager.shutdown()
        self._ledger.note("stopped")

    # ---- operations -----------------------------------------------------------------------------------------------

    def _entries(self, topic: str) -> list[Entry]:
        entries = []
        for _ in range(self._rng.choice([1, 1, 2, 5])):
            self._value += 1
            number = -1 if topic in COMPACTED and self._rng.random() < 0.15 else self._value
            # a key of its own may stay for ever
            key = self._rng.randrange(KEYS) if topic in COMPACTED else -1
            entries.append((key, number, 10 + self._rng.randrange(90)))
        return entries

    def _records(self, entries: Sequence[Entry], **options: Any) -> MemoryRecords:
        now = Time.SYSTEM.milliseconds()
        made = (SimpleRecord(now - self._rng.randrange(5), key_bytes(k), value_bytes(n, s)) for k, n, s in entries)
        return MemoryRecords.with_records(*made, compression_type=self._rng.choice(CODECS), **options)

    def _append(self) -> None:
        topic = self._rng.choice(LEADERS)
        if topic in TRANSACTIONAL:
            self._append_with_producer(topic)
            return
        entries = self._entries(topic)
        records = self._records(entries, magic=1 if topic == "retained" else 2)
        self._lead(topic, records, [-1, -1, -1, False, entries])

    def _lead(self, topic: str, records: MemoryRecords, batch: list[Any], from_client: bool = True) -> None:
        log = self._logs[topic]
        if log.size + records.size_in_bytes() >= RETENTION_BYTES:
            # retention may delete from it now, and the cleaner make it small again
            self._ledger.note("large", log.name)
        self._ledger.note("append", log.name, log.log_end_offset, self._number, [batch])
        log.append_as_leader(records, self._number, from_client)
        self._ledger.note("done")
        log.on_high_watermark_incremented(log.log_end_offset)

    def _append_with_producer(self, topic: str) -> None:
        """A batch in sequence, or the end of a transaction."""
        log = self._logs[topic]
        pid = self._rng.choice(TRANSACTIONAL_PRODUCERS + IDEMPOTENT_PRODUCERS)
        entry = log.producer_state_manager.last_entry(pid)
        epoch, sequence = (0, 0) if entry is None else (entry.producer_epoch, entry.last_seq + 1)
        is_open = entry is not None and entry.current_txn_first_offset is not None
        if is_open and self._rng.random() < 0.4:
            commit = self._rng.random() < 0.5
            kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
            marker = MemoryRecords.with_end_transaction_marker(pid, epoch, EndTransactionMarker(kind, 0))
            self._lead(topic, marker, [pid, epoch, -1, commit, None], from_client=False)
            return
        if not is_open and self._rng.random() < 0.05:
            epoch, sequence = epoch + 1, 0
        entries = self._entries(topic)
        transactional = pid in TRANSACTIONAL_PRODUCERS
        records = self._records(
            entries, producer_id=pid, producer_epoch=epoch, base_sequence=sequence, is_transactional=transactional
        )
        self._lead(topic, records, [pid, epoch, sequence, transactional, entries])

    def _send_again(self, topic: str) -> None:
        """The last batch of each producer, which the log knows and does not append a second time."""
        log = self._logs[topic]
        end = log.log_end_offset
        for pid, entry in log.producer_state_manager.active_producers.items():
            last = entry.batch_metadata[-1]
            again = self._records(
                [(0, 0, 5)] * (last.offset_delta + 1),
                producer_id=pid,
                producer_epoch=entry.producer_epoch,
                base_sequence=last.first_seq,
                is_transactional=pid in TRANSACTIONAL_PRODUCERS,
            )
            info = log.append_as_leader(again, self._number)
            assert (info.first_offset, info.last_offset) == (last.first_offset, last.last_offset)
            assert log.log_end_offset == end

    def _append_as_follower(self) -> None:
        """Some batches in one append, with the offsets and the epochs that a leader gave them."""
        log = self._logs[FOLLOWER]
        offset = first = log.log_end_offset
        epoch = max(log.leader_epoch_cache.latest_epoch(), 0)
        parts, batches = [], []
        for _ in range(self._rng.choice([1, 2, 4])):
            if self._rng.random() < 0.1:
                epoch += 1
            entries = self._entries(FOLLOWER)
            parts.append(bytes(self._records(entries, initial_offset=offset, partition_leader_epoch=epoch).buffer))
            batches.append([-1, epoch, -1, False, entries])
            offset += len(entries)
        self._ledger.note("append", log.name, first, None, batches)
        log.append_as_follower(MemoryRecords.readable_records(bytearray(b"".join(parts))))
        self._ledger.note("done")
        log.on_high_watermark_incremented(log.log_end_offset)

    def _truncate(self) -> None:
        """To the beginning of a batch, as leaders say; seldom to one below the log start or the first segment."""
        log = self._logs[FOLLOWER]
        # seldom by much, or the log would never have many segments
        target = log.log_end_offset - self._rng.randrange(1, 250 if self._rng.random() < 0.07 else 6)
        if target >= log.log_start_offset:
            kind = "truncate"
            batch = next(iter(log.read_uncommitted(target, 1, min_one_message=True).records.batches()))
            target = batch.base_offset()
        else:
            # below the first segment it is a restart, and which segment is the first may change any time
            kind = "either"
            target = max((s.base_offset for s in log.log_segments if s.base_offset <= target), default=max(target, 0))
            if self._rng.random() < 0.9:
                return
        if target < log.log_end_offset:
            self._ledger.note(kind, log.name, target)
            self._manager.truncate_to({log.topic_partition: target}, is_future=False)
            self._ledger.note("done")

    def _restart(self) -> None:
        log = self._logs[FOLLOWER]
        target = max(log.log_end_offset + self._rng.choice([-200, -1, 0, 1, 100]), 0)
        self._ledger.note("restart", log.name, target)
        self._manager.truncate_fully_and_start_at(log.topic_partition, target, is_future=False)
        self._ledger.note("done")

    def _roll(self) -> None:
        log = self._rng.choice([*self._logs.values()])
        if log.active_segment.size:
            log.roll()

    def _flush(self) -> None:
        log = self._rng.choice([*self._logs.values()])
        end = log.log_end_offset
        log.flush()
        self._ledger.note("flushed", log.name, end)

    def _checkpoint(self) -> None:
        self._manager.checkpoint_log_recovery_offsets()
        starts = {log.name: log.log_start_offset for log in self._logs.values()}
        self._manager.checkpoint_log_start_offsets()
        self._ledger.note("starts", starts)

    def _raise_log_start(self) -> None:
        """As a DeleteRecords request, or as what a follower hears of the leader's log start."""
        log = self._logs[self._rng.choice(["retained", FOLLOWER])]
        target = min(log.log_start_offset + self._rng.randrange(1, 20), log.log_end_offset)
        self._ledger.note("delete", log.name, target)
        log.maybe_increment_log_start_offset(target)
        self._ledger.note("done")

    def _checkpoint_high_watermarks(self) -> None:
        self._high_watermarks.write({log.topic_partition: log.log_end_offset for log in self._logs.values()})


def live(spec: dict[str, Any], lines: BinaryIO) -> None:
    """The whole life of a child."""
    steps = Steps(spec["steps"], spec["where"], spec["renames"]) if spec["steps"] else None
    worker = Worker(spec, Ledger(spec["ledger"]))
    pathlib.Path(spec["state"]).write_text(json.dumps(worker.describe()))
    print("ready", flush=True)
    lines.readline()
    worker.run(spec["operations"], steps)


def main() -> None:
    """Fork a child for each line, and say its process id, and how it ended.

    A dead child stays a zombie until a line says that it may go, so that its id can be killed at any time.
    """
    lines = os.fdopen(os.dup(0), "rb", buffering=0)  # unbuffered: the child reads on from there
    while line := lines.readline():
        pid = os.fork()
        if pid == 0:
            run_child(json.loads(line), lines)
        print(f"pid {pid}", flush=True)
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        print(f"ended {ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status}", flush=True)
        while lines.readline() not in (b"bury\n", b""):
            continue  # what the child would have read, or has read in part
        os.waitpid(pid, 0)


def run_child(spec: dict[str, Any], lines: BinaryIO) -> NoReturn:
    """Live and exit, with 1 after an exception, which is written to where errors go."""
    signal.alarm(LIFETIME_S)
    status = 1
    try:
        logging.getLogger().addHandler(ErrorsToFile(pathlib.Path(spec["errors"])))
        live(spec, lines)
        status = 0
    except BaseException:
        logging.getLogger().exception("the child failed")
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
