"""Log: what opening a log finds and repairs after a crash."""

from __future__ import annotations

import os
import pathlib
import random
import shutil

import pytest

from kafka_py.common.errors import OutOfOrderSequenceException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log import producer_updates
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.log.log import Log
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import EpochEntry
from tests.log.log_harness import (
    Logs,
    aborted,
    append_mixed_transactions,
    as_follower,
    as_leader,
    log_config,
    numbered,
    offsets,
    records_of,
    singleton,
    transactional,
    unstable,
    values,
)

CONFIG = log_config(segment_bytes=200, index_interval_bytes=1)


def fill(logs: Logs, log: Log, count: int) -> int:
    """Records 10 ms apart; the timestamp of the first."""
    now = logs.time.milliseconds()
    for i in range(count):
        as_leader(log, singleton(b"value%04d" % i, timestamp=now + i * 10))
    return now


def assert_served(log: Log, count: int, now: int) -> None:
    """Every offset and every timestamp is found."""
    assert log.log_end_offset == count
    for i in range(count):
        assert next(log.read_uncommitted(i, 100).records.batches()).last_offset() == i
        assert log.fetch_offsets_by_timestamp(now + i * 10) == TimestampOffset(now + i * 10, i)


@pytest.mark.ported("LogTest.testLogRecoversToCorrectOffset")
@pytest.mark.parametrize("recovery_point", [0, 100])
def test_log_recovers_to_correct_offset(logs: Logs, recovery_point: int) -> None:
    config = log_config(segment_bytes=700, index_interval_bytes=300, segment_index_bytes=4096)
    log = logs.create(config)
    for i in range(100):
        as_leader(log, singleton(bytes(100), timestamp=logs.time.milliseconds() + i * 10))
    segment = log.active_segment
    last_index_offset, index_entries = segment.offset_index.last_offset, segment.offset_index.entries
    largest, time_entries = segment.largest_timestamp, segment.time_index.entries
    if segment.time_index.last_entry.offset != 99:
        time_entries += 1
    log.close()
    log = logs.create(config, recovery_point=recovery_point)
    segment = log.active_segment
    assert (log.recovery_point, log.log_end_offset) == (100, 100)
    assert (segment.offset_index.last_offset, segment.offset_index.entries) == (last_index_offset, index_entries)
    assert segment.time_index.last_entry == TimestampOffset(largest, 99)
    assert segment.time_index.entries == time_entries


@pytest.mark.ported("LogTest.testIndexRebuild")
@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("missing", [("index", "timeindex"), ("index",), ("timeindex",)], ids="+".join)
def test_missing_indexes_are_rebuilt(logs: Logs, clean: bool, missing: tuple[str, ...]) -> None:
    log = logs.create(CONFIG)
    now = fill(logs, log, 60)
    log.close()
    for suffix in missing:
        for file in logs.dir.glob(f"*.{suffix}"):
            file.unlink()
    for file in logs.dir.glob("*.log"):
        os.utime(file, (0, 0))  # so that the age of a file is not taken for that of its newest record
    if clean:
        logs.mark_clean_shutdown()
    log = logs.create(CONFIG, recovery_point=60 if clean else 0)
    assert log.log_segments[0].offset_index.entries > 0
    assert log.log_segments[0].time_index.entries > 0
    assert_served(log, 60, now)


@pytest.mark.ported("LogTest.testCorruptIndexRebuild")
@pytest.mark.parametrize(
    "content",
    [b"  ", b"", bytes(64), b"\xff" * 24, random.Random(3).randbytes(48), random.Random(4).randbytes(1001)],
    ids=["blanks", "empty", "zeros", "ones", "random", "random-odd"],
)
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_corrupt_indexes_are_rebuilt(logs: Logs, content: bytes, suffix: str) -> None:
    log = logs.create(CONFIG)
    now = fill(logs, log, 40)
    log.close()
    for file in logs.dir.glob("*.log"):
        file.with_suffix(suffix).write_bytes(content)
    log = logs.create(CONFIG, recovery_point=40)
    if suffix == ".timeindex" and content == b"":
        # that is what segments written before Kafka 0.10.1 have
        assert [next(log.read_uncommitted(i, 100).records.batches()).last_offset() for i in range(40)] == [*range(40)]
    else:
        assert_served(log, 40, now)


@pytest.mark.ported("LogTest.testRebuildTimeIndexForOldMessages")
def test_time_index_of_old_messages_is_empty(logs: Logs) -> None:
    config = log_config(segment_bytes=200, index_interval_bytes=1, message_format_version="0.9.0")
    log = logs.create(config)
    for i in range(50):
        as_leader(log, singleton(bytes(10), timestamp=logs.time.milliseconds() + i * 10, magic=1))
    log.close()
    for file in logs.dir.glob("*.timeindex"):
        file.unlink()
    log = logs.create(config, recovery_point=51)
    for segment in log.log_segments[:-1]:
        assert segment.time_index.entries == 0
        assert segment.time_index.file.stat().st_size == 0


@pytest.mark.ported("LogTest.testBogusIndexSegmentsAreRemoved")
def test_orphaned_indexes_are_removed(logs: Logs) -> None:
    orphans = [Log.offset_index_file(logs.dir, 5), Log.time_index_file(logs.dir, 5)]
    for file in (*orphans, Log.offset_index_file(logs.dir, 0), Log.time_index_file(logs.dir, 0)):
        file.touch()
    log = logs.create()
    assert Log.offset_index_file(logs.dir, 0).stat().st_size > 0
    assert not any(file.exists() for file in orphans)
    fill(logs, log, 10)


@pytest.mark.ported("LogTest.testReopenThenTruncate")
def test_reopen_then_truncate(logs: Logs) -> None:
    log = logs.create(CONFIG)
    fill(logs, log, 50)
    log.close()
    log = logs.create(CONFIG)
    log.truncate_to(1)
    assert (log.number_of_segments, log.log_end_offset) == (1, 1)
    as_leader(log, singleton())
    assert offsets(log) == [0, 1]


@pytest.mark.ported("LogTest.testOpenDeletesObsoleteFiles")
def test_open_deletes_obsolete_files(logs: Logs) -> None:
    config = log_config(segment_bytes=200, retention_ms=999)
    log = logs.create(config)
    fill(logs, log, 30)
    logs.time.sleep(2000)
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    log.close()
    (logs.dir / "00000000000000000007.log.cleaned").write_bytes(b"half")
    assert list(logs.dir.glob("*.deleted"))
    log = logs.create(config)
    assert (log.number_of_segments, log.log_start_offset, log.log_end_offset) == (1, 30, 30)
    assert list(logs.dir.glob("*.deleted")) + list(logs.dir.glob("*.cleaned")) == []


@pytest.mark.ported("LogTest.testCorruptLog")
@pytest.mark.parametrize("seed", range(6))
def test_garbage_behind_log_and_index(logs: Logs, seed: int) -> None:
    rand = random.Random(seed)
    config = log_config(segment_bytes=1000, index_interval_bytes=1)
    log = logs.create(config)
    count = 50 + rand.randrange(50)
    now = fill(logs, log, count)
    before = values(log)
    logs.crash(log)
    for file in (log.active_segment.offset_index.file, pathlib.Path(log.active_segment.log.file)):
        with file.open("ab") as f:
            f.write(rand.randbytes(rand.randrange(1024) + 1))
    log = logs.create(config, recovery_point=50)
    assert values(log) == before
    assert_served(log, count, now)


@pytest.mark.slow
def test_torn_tail_at_every_byte(logs: Logs, tmp_path: pathlib.Path) -> None:
    """A log cut anywhere keeps exactly the batches that are whole, and goes on from there."""
    config = log_config(segment_bytes=400, index_interval_bytes=1)
    log = logs.create(config)
    ends = []
    for i in range(9):
        as_leader(log, logs.idempotent(7, i, b"value%d" % i))
        ends.append((log.active_segment.base_offset, log.active_segment.size))
    base = log.active_segment.base_offset
    data = Log.log_file(logs.dir, base).read_bytes()
    logs.crash(log)
    kept = tmp_path / "kept"
    shutil.copytree(logs.dir, kept)
    whole_before = sum(1 for segment_base, _ in ends if segment_base < base)
    for length in range(len(data) + 1):
        shutil.rmtree(logs.dir)
        shutil.copytree(kept, logs.dir)
        Log.log_file(logs.dir, base).write_bytes(data[:length])
        log = logs.create(config)
        whole = whole_before + sum(1 for b, end in ends if b == base and end <= length)
        assert log.log_end_offset == whole
        assert values(log) == [b"value%d" % i for i in range(whole)]
        # the producer's newest batch is still recognised, and the next one follows it
        assert as_leader(log, logs.idempotent(7, whole - 1, b"again")).last_offset == whole - 1
        assert as_leader(log, logs.idempotent(7, whole)).first_offset == whole
        with pytest.raises(OutOfOrderSequenceException):
            as_leader(log, logs.idempotent(7, whole + 2))
        logs.crash(log)


@pytest.mark.slow
def test_flipped_bit_at_every_byte(logs: Logs, tmp_path: pathlib.Path) -> None:
    """A damaged batch and all behind it go; what is before stays. Opening never fails."""
    config = log_config(index_interval_bytes=1)
    log = logs.create(config)
    for i in range(3):
        as_leader(log, singleton(b"value%d" % i))
    size = log.size // 3
    data = Log.log_file(logs.dir, 0).read_bytes()
    logs.crash(log)
    kept = tmp_path / "kept"
    shutil.copytree(logs.dir, kept)
    for at in range(size, len(data)):
        shutil.rmtree(logs.dir)
        shutil.copytree(kept, logs.dir)
        damaged = bytearray(data)
        damaged[at] ^= 0x40
        Log.log_file(logs.dir, 0).write_bytes(damaged)
        log = logs.create(config)
        batch, within = divmod(at, size)
        survived = offsets(log)
        # base offset and leader epoch are not covered by the checksum
        if within >= 16:
            assert survived == list(range(batch))
        as_leader(log, singleton())
        logs.crash(log)


def test_garbage_in_the_middle_deletes_the_segments_behind(logs: Logs) -> None:
    log = logs.create(CONFIG)
    fill(logs, log, 30)
    third = log.log_segments[2]
    base = third.base_offset
    logs.crash(log)
    file = Log.log_file(logs.dir, base)
    file.write_bytes(b"\0" * 30 + file.read_bytes()[30:])
    log = logs.create(CONFIG)
    assert (log.log_end_offset, log.number_of_segments) == (base, 3)
    logs.time.sleep(100000)
    assert sorted(f.name for f in logs.dir.glob("*.log")) == [
        Log.log_file(logs.dir, segment.base_offset).name for segment in log.log_segments
    ]


@pytest.mark.ported("LogTest.testCleanShutdownFile")
def test_clean_shutdown_skips_recovery(logs: Logs) -> None:
    log = logs.create(CONFIG)
    fill(logs, log, 30)
    log.close()
    logs.mark_clean_shutdown()
    # damage that recovery would find, in a batch that is not looked at otherwise
    file = Log.log_file(logs.dir, 0)
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    file.write_bytes(data)
    log = logs.create(CONFIG)
    assert (log.log_end_offset, log.recovery_point) == (30, 30)


@pytest.mark.ported("LogTest.testLogRecoversForLeaderEpoch")
def test_leader_epochs_are_recovered(logs: Logs) -> None:
    log = logs.create()
    for offset, epoch in enumerate((1, 2, 2, 3)):
        as_follower(log, records_of(b"random", initial_offset=offset), leader_epoch=epoch)
    expected = [EpochEntry(1, 0), EpochEntry(2, 1), EpochEntry(3, 3)]
    assert log.leader_epoch_cache.epoch_entries() == expected
    log.leader_epoch_cache.clear_and_flush_latest(2)
    assert log.leader_epoch_cache.epoch_entries() != expected
    log.close()
    assert logs.create().leader_epoch_cache.epoch_entries() == expected


# ---- interrupted swaps


def test_swap_file_replaces_the_segments_it_covers(logs: Logs) -> None:
    """The cleaner died after renaming its segment to .swap and one of the old ones to .deleted."""
    log = logs.create(CONFIG)
    fill(logs, log, 8)
    bases = [segment.base_offset for segment in log.log_segments]
    assert len(bases) >= 4
    data = b"".join(Log.log_file(logs.dir, base).read_bytes() for base in bases[:2])
    logs.crash(log)
    Log.log_file(logs.dir, bases[0], ".swap").write_bytes(data)
    Log.log_file(logs.dir, bases[1]).rename(Log.log_file(logs.dir, bases[1], ".deleted"))
    (logs.dir / f"{Log.filename_prefix_from_offset(bases[0])}.index.swap").write_bytes(b"junk")
    config = log_config(segment_bytes=10000, index_interval_bytes=1)
    log = logs.create(config)
    assert [segment.base_offset for segment in log.log_segments] == [bases[0], *bases[2:]]
    assert values(log) == [b"value%04d" % i for i in range(8)]
    logs.time.sleep(100000)
    assert list(logs.dir.glob("*.log.*")) == []


def test_replace_segments(logs: Logs) -> None:
    log = logs.create(CONFIG)
    fill(logs, log, 8)
    old = log.log_segments[:2]
    cleaned = Log.log_file(logs.dir, 0, ".cleaned")
    cleaned.write_bytes(b"".join(pathlib.Path(segment.log.file).read_bytes() for segment in old))
    from kafka_py.log.log_segment import LogSegment

    segment = LogSegment.open(logs.dir, 0, CONFIG, logs.time, file_already_exists=True, file_suffix=".cleaned")
    log.replace_segments(segment, old)
    assert values(log) == [b"value%04d" % i for i in range(8)]
    assert sorted(f.name for f in logs.dir.glob("*.log")) == [
        Log.log_file(logs.dir, s.base_offset).name for s in log.log_segments
    ]
    assert len(list(logs.dir.glob("*.log.deleted"))) == 2


# ---- producer state


@pytest.mark.ported("LogTest.testProducerSnapshotsRecoveryAfterUncleanShutdown")
def test_producer_snapshots_after_unclean_shutdown(logs: Logs) -> None:
    config = log_config(segment_bytes=64 * 10)
    log = logs.create(config)
    for i in range(40):
        as_leader(log, logs.idempotent(3, i, b"value"))
    log.flush()
    bases = [segment.base_offset for segment in log.log_segments]
    logs.crash(log)
    logs.delete_producer_snapshot_files()
    log = logs.create(config)
    assert set(bases[1:]) <= set(logs.snapshot_offsets())
    assert log.active_producers_with_last_sequence() == {3: 39}


def test_corrupt_producer_snapshot_is_rebuilt(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=400))
    for i in range(20):
        as_leader(log, logs.idempotent(3, i, b"value"))
    logs.crash(log)
    for file in logs.dir.glob("*.snapshot"):
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
    log = logs.create(log_config(segment_bytes=400))
    assert log.active_producers_with_last_sequence() == {3: 19}
    assert as_leader(log, logs.idempotent(3, 19, b"value")).first_offset == 19
    assert log.log_end_offset == 20


class CountedReloads(ProducerStateManager):
    """Counts how often it is brought to an offset by reading snapshots."""

    reloads = 0

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, current_time_ms: int) -> None:
        self.reloads += 1
        super().truncate_and_reload(log_start_offset, log_end_offset, current_time_ms)


@pytest.mark.ported("LogTest.testSkipTruncateAndReloadIfOldMessageFormatAndNoCleanShutdown")
@pytest.mark.ported("LogTest.testSkipTruncateAndReloadIfOldMessageFormatAndCleanShutdown")
@pytest.mark.ported("LogTest.testSkipTruncateAndReloadIfNewMessageFormatAndCleanShutdown")
@pytest.mark.parametrize(
    ("version", "clean", "reloads"),
    [("0.10.2", False, 0), ("0.10.2", True, 0), ("0.11.0", True, 0), ("0.11.0", False, 1)],
)
def test_producers_are_looked_for_only_where_there_may_be_some(
    logs: Logs, version: str, clean: bool, reloads: int
) -> None:
    if clean:
        logs.mark_clean_shutdown()
    manager = CountedReloads(TopicPartition("topic", 0), logs.dir)
    logs.create(log_config(message_format_version=version), producer_state_manager=manager)
    assert manager.reloads == reloads


@pytest.mark.ported("LogTest.testInitializationOfProducerSnapshotsUpgradePath")
def test_upgrade_writes_empty_snapshots_without_a_scan(logs: Logs) -> None:
    config = log_config(segment_bytes=64 * 10)
    log = logs.create(config)
    for i in range(40):
        as_leader(log, singleton(str(i).encode()))
    bases = [segment.base_offset for segment in log.log_segments]
    log.close()
    logs.delete_producer_snapshot_files()
    logs.mark_clean_shutdown()
    log = logs.create(config)
    assert logs.snapshot_offsets() == [*bases[-2:], 40]
    assert log.producer_state_manager.is_empty


@pytest.mark.ported("LogTest.testRebuildTransactionalState")
def test_rebuild_transactional_state(logs: Logs) -> None:
    log = logs.create()
    transactional(log, 137, 5)(3)
    marker = as_leader(log, logs.end_txn(ControlRecordType.ABORT, 137, 5), from_client=False)
    log.on_high_watermark_incremented(marker.last_offset + 1)
    assert unstable(log) is None
    log.close()
    log = logs.create()
    log.on_high_watermark_incremented(marker.last_offset + 1)
    assert unstable(log) is None


@pytest.mark.parametrize("crash", [True, False])
@pytest.mark.parametrize("snapshots", [True, False])
def test_open_transaction_survives_a_restart(logs: Logs, crash: bool, snapshots: bool) -> None:
    log = logs.create(log_config(segment_bytes=300))
    as_leader(log, records_of(b"a", b"b"))
    transactional(log, 137, 5)(3)
    for _ in range(5):
        as_leader(log, singleton())
    assert unstable(log) == 2
    if crash:
        logs.crash(log)
    else:
        log.close()
    if not snapshots:
        logs.delete_producer_snapshot_files()
    log = logs.create(log_config(segment_bytes=300))
    assert unstable(log) == 2
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, 137, 5), from_client=False)
    assert [(t.producer_id, t.first_offset, t.last_offset) for t in aborted(log)] == [(137, 2, 10)]


@pytest.mark.ported("LogTest.testFullTransactionIndexRecovery")
@pytest.mark.ported("LogTest.testRecoverOnlyLastSegment")
@pytest.mark.ported("LogTest.testRecoverLastSegmentWithNoSnapshots")
@pytest.mark.parametrize(("all_segments", "snapshots"), [(True, True), (False, True), (False, False)])
def test_transaction_index_recovery(logs: Logs, all_segments: bool, snapshots: bool) -> None:
    log = logs.create(log_config(segment_bytes=128 * 5))
    expected = append_mixed_transactions(logs, log)
    if not snapshots:
        logs.delete_producer_snapshot_files()
    damaged = log.log_segments if all_segments else log.log_segments[-1:]
    for segment in damaged:
        segment.offset_index.delete_if_exists()
        segment.txn_index.delete_if_exists()
    recovery_point = 0 if all_segments else damaged[0].base_offset
    log.close()
    log = logs.create(log_config(segment_bytes=1024 * 5), recovery_point=recovery_point)
    assert aborted(log) == expected


@pytest.mark.ported("LogTest.testSkipLoadingIfEmptyProducerStateBeforeTruncation")
def test_truncation_does_not_scan_if_there_never_was_a_producer(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.create(log_config(segment_bytes=300))
    for _ in range(20):
        as_leader(log, singleton())
    scanned: list[object] = []
    monkeypatch.setattr(producer_updates, "load_producers_from_records", lambda *args: scanned.append(args))
    log.truncate_to(7)
    assert scanned == []
    as_leader(log, logs.idempotent(1, 0))
    as_leader(log, singleton())
    logs.delete_producer_snapshot_files()
    log.truncate_to(8)
    assert scanned != []


def test_log_start_offset_is_at_least_the_first_segment(logs: Logs) -> None:
    log = logs.create(CONFIG)
    fill(logs, log, 10)
    second = log.log_segments[1].base_offset
    log.close()
    for file in logs.dir.glob("00000000000000000000.*"):
        file.unlink()
    assert logs.create(CONFIG).log_start_offset == second


def test_delete_dir_is_not_recovered(logs: Logs) -> None:
    log = logs.create(CONFIG)
    fill(logs, log, 10)
    log.rename_dir(Log.log_delete_dir_name(log.topic_partition))
    logs.crash(log)
    logs.dir = log.dir
    log = logs.create(CONFIG)
    assert log.topic_partition.topic == "topic"
    log.delete()


def test_numbered_records() -> None:
    assert [record.value for record in numbered(3, 5)] == [b"5", b"6", b"7"]
