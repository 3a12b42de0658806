"""Compaction and crashes: whatever the moment, the log that is opened afterwards has the last record of each key."""

from __future__ import annotations

import pathlib
import random
import shutil

import pytest

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.cleaner_stats import CleanerStats
from kafka_py.log.log import Log
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.offset_map import SkimpyOffsetMap
from tests.log.cleaner_support import (
    INT_MAX,
    FakeOffsetMap,
    all_records,
    cleaner_config,
    end_txn,
    fill_segments,
    key,
    keys_in_log,
    make_cleaner,
    put_all,
    to_clean,
)
from tests.log.log_harness import Logs, as_leader, offsets

CONFIG = cleaner_config(segment_bytes=300, index_interval_bytes=1, file_delete_delay_ms=10)


def without_suffix(dir: pathlib.Path, suffix: str) -> None:
    for file in dir.glob(f"*{suffix}"):
        file.rename(file.with_name(file.name[: -len(suffix)]))


def recover_and_check(logs: Logs, expected: list[int]) -> Log:
    log = logs.create(CONFIG)
    logs.time.sleep(11)
    left = [f.name for f in logs.dir.iterdir() if f.name.endswith((".deleted", ".cleaned", ".swap"))]
    assert left == []
    assert keys_in_log(log) == expected
    return log


@pytest.mark.ported("LogCleanerTest.testRecoveryAfterCrash")
def test_recovery_after_crash(logs: Logs) -> None:
    log = logs.create(CONFIG)
    cleaner = make_cleaner(logs.time)
    fill_segments(log, 10)
    all_keys = keys_in_log(log)

    def clean() -> list[int]:
        fill_segments(log, 10)
        odd = put_all(FakeOffsetMap(INT_MAX), range(1, log.log_end_offset, 2))
        cleaner.clean_segments(log, log.log_segments[:9], odd, 0, CleanerStats())
        logs.time.scheduler.clear()  # the old segments are not unlinked
        return keys_in_log(log)

    # 1. the copy is there, but not complete
    clean()
    log.close()
    log.log_segments[0].change_file_suffixes("", LogFileUtils.CLEANED_FILE_SUFFIX)
    without_suffix(logs.dir, LogFileUtils.DELETED_FILE_SUFFIX)
    log = recover_and_check(logs, all_keys)
    # 2. complete, and the old segments still in their places
    cleaned_keys = clean()
    assert cleaned_keys != all_keys
    log.close()
    log.log_segments[0].change_file_suffixes("", LogFileUtils.SWAP_FILE_SUFFIX)
    without_suffix(logs.dir, LogFileUtils.DELETED_FILE_SUFFIX)
    log = recover_and_check(logs, cleaned_keys)
    # 3. the old segments have been taken away
    cleaned_keys = clean()
    log.close()
    log.log_segments[0].change_file_suffixes("", LogFileUtils.SWAP_FILE_SUFFIX)
    log = recover_and_check(logs, cleaned_keys)
    # 4. all done, but the old segments are still on the disk
    cleaned_keys = clean()
    log.close()
    recover_and_check(logs, cleaned_keys)


@pytest.mark.parametrize("emptied", [False, True])
def test_a_swap_leaves_the_segment_before_it_alone(logs: Logs, emptied: bool) -> None:
    """The first of the originals is gone already; 1.1.1 then takes the segment before for one of them."""
    log = logs.create(CONFIG)
    fill_segments(log, 4)
    bases = [segment.base_offset for segment in log.log_segments]
    expected = keys_in_log(log)
    logs.crash(log)
    data = b"" if emptied else Log.log_file(logs.dir, bases[1]).read_bytes()
    Log.log_file(logs.dir, bases[1], ".swap").write_bytes(data)
    Log.log_file(logs.dir, bases[1]).rename(Log.log_file(logs.dir, bases[1], ".deleted"))
    recover_and_check(logs, [k for k in expected if not (emptied and bases[1] <= k < bases[2])])


def test_segments_that_went_meanwhile_are_not_deleted_again(logs: Logs) -> None:
    log = logs.create(cleaner_config(file_delete_delay_ms=1000))
    fill_segments(log, 6)
    log.on_high_watermark_incremented(log.log_end_offset)
    expected = keys_in_log(log)
    log.update_config((), cleaner_config(segment_bytes=10_000, file_delete_delay_ms=1000))
    copy = Log.log_file(log.dir, 0, LogFileUtils.CLEANED_FILE_SUFFIX)

    def delete_what_was_copied(_: object) -> None:
        if log.log_start_offset == 0 and copy.exists() and copy.stat().st_size > 0:
            log.maybe_increment_log_start_offset(log.log_segments[1].base_offset)
            log.update_config((), cleaner_config(cleanup_policy="delete", file_delete_delay_ms=1000))
            assert log.delete_old_segments() == 1
            logs.time.sleep(2000)  # its files are gone

    make_cleaner(logs.time, check_done=delete_what_was_copied).clean(to_clean(log))
    start = log.log_start_offset
    assert start > 0
    logs.time.sleep(2000)
    assert not logs.channel.has_offline_log_dir(str(log.dir.parent))
    assert [k for k in keys_in_log(log) if k >= start] == [k for k in expected if k >= start]
    assert not [file.name for file in log.dir.iterdir() if file.name.endswith((".swap", ".cleaned", ".deleted"))]


class Steps:
    """Counts the steps of a pass that change the disk, and copies the directory at one of them: that is the crash.

    What runs on behind the copy does not matter.
    """

    def __init__(self, dir: pathlib.Path, copy: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.crash_at = -1
        self._dir, self._copy = dir, copy
        for cls, name in (
            (LogSegment, "append"),
            (LogSegment, "flush"),
            (LogSegment, "on_become_inactive_segment"),
        ):
            self._wrap(monkeypatch, cls, name)
        original = pathlib.os.replace  # type: ignore[attr-defined]

        def replace(a: object, b: object) -> None:
            self.step()
            original(a, b)

        monkeypatch.setattr("os.replace", replace)

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, cls: type, name: str) -> None:
        original = getattr(cls, name)

        def wrapped(*args: object, **kwargs: object) -> object:
            self.step()
            return original(*args, **kwargs)

        monkeypatch.setattr(cls, name, wrapped)

    def step(self) -> None:
        if self.count == self.crash_at:
            shutil.rmtree(self._copy, ignore_errors=True)
            shutil.copytree(self._dir, self._copy)
        self.count += 1


@pytest.mark.slow
def test_a_crash_at_every_step(logs: Logs, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four segments become two, of which the second ends before its originals do."""
    log = logs.create(CONFIG)
    for i in (0, 1, 2, 3, 1, 2, 4, 0, 5, 1, 6, 0, 2, 7, 8, 9, 4, 7, 7):
        as_leader(log, MemoryRecords.with_records(SimpleRecord(1, key(i), key(log.log_end_offset))))
    log.roll()
    as_leader(log, MemoryRecords.with_records(SimpleRecord(1, key(10), b"19")))
    expected = {bytes(r.key() or b""): bytes(r.value() or b"") for r in all_records(log)}
    end = log.log_end_offset
    pristine = tmp_path / "pristine"
    log.flush()
    shutil.copytree(logs.dir, pristine)
    logs.crash(log)
    copy = tmp_path / "data2" / "topic-0"
    steps = Steps(logs.dir, copy, monkeypatch)
    crashes = 0
    while True:
        shutil.rmtree(logs.dir)
        shutil.copytree(pristine, logs.dir)
        log = logs.create(CONFIG)
        steps.count, steps.crash_at = 0, crashes
        make_cleaner(logs.time).clean(to_clean(log))
        total = steps.count
        steps.crash_at = -1
        logs.time.scheduler.clear()
        logs.crash(log)
        if crashes >= total:
            break
        shutil.rmtree(logs.dir)
        shutil.copytree(copy, logs.dir)
        log = logs.create(CONFIG)
        check_last_values(log, expected)
        assert log.log_end_offset == end
        # the checkpoint was not written: the pass is repeated, and now everything obsolete is gone
        make_cleaner(logs.time).clean(to_clean(log))
        cleaned = [r for segment in log.log_segments[:-1] for r in segment.log.records()]
        assert [bytes(r.value() or b"") for r in cleaned] == sorted(
            (v for k, v in expected.items() if k != b"10"), key=int
        )
        logs.time.scheduler.clear()
        logs.crash(log)
        crashes += 1
    assert crashes > 20


def check_last_values(log: Log, expected: dict[bytes, bytes]) -> None:
    found = {}
    for r in all_records(log):
        found[bytes(r.key() or b"")] = bytes(r.value() or b"")
    assert found == expected
    assert offsets(log) == sorted(set(offsets(log)))


# ---- a model


class Model:
    """What a compacted log must still say: for each key the last committed value and its offset."""

    def __init__(self) -> None:
        self.values: dict[bytes, tuple[bytes | None, int]] = {}
        # every record that was ever visible, by offset: what is read must be one of them
        self.written: dict[int, tuple[bytes, bytes | None]] = {}

    def put(self, offset: int, key: bytes, value: bytes | None) -> None:
        self.values[key] = (value, offset)
        self.written[offset] = (key, value)


def append_something(rng: random.Random, logs: Logs, log: Log, model: Model, sequences: dict[int, int]) -> None:
    """A batch, or a transaction of some batches that is committed or aborted."""
    codec = rng.choice([CompressionType.NONE, CompressionType.NONE, CompressionType.LZ4, CompressionType.GZIP])
    kind = rng.choice(["plain", "plain", "idempotent", "commit", "abort"])
    pid = rng.randrange(4)
    pending: list[tuple[int, bytes, bytes | None]] = []
    for _ in range(1 if kind in ("plain", "idempotent") else rng.choice([1, 2, 3])):
        records = []
        for _ in range(rng.choice([1, 1, 3, 8])):
            value = None if rng.random() < 0.15 else rng.randbytes(rng.choice([0, 5, 40]))
            records.append(SimpleRecord(logs.time.milliseconds() - rng.randrange(9), key(rng.randrange(25)), value))
        options = {}
        if kind != "plain":
            options = {"producer_id": pid, "producer_epoch": 0, "base_sequence": sequences.get(pid, 0)}
            sequences[pid] = sequences.get(pid, 0) + len(records)
        info = as_leader(
            log,
            MemoryRecords.with_records(
                *records,
                compression_type=codec,
                is_transactional=kind in ("commit", "abort"),
                **options,  # type: ignore[arg-type]
            ),
        )
        pending += [
            (info.first_offset + i, bytes(r.key or b""), None if r.value is None else bytes(r.value))
            for i, r in enumerate(records)
        ]
    if kind in ("commit", "abort"):
        end_txn(logs, log, pid, commit=kind == "commit")
    if kind != "abort":
        for entry in pending:
            model.put(*entry)


def check_against(model: Model, log: Log) -> None:
    """Last values are there; all that is there was written so, at that offset; tombstones may be gone."""
    aborted = log.collect_aborted_transactions(0, log.log_end_offset)
    seen: dict[bytes, tuple[bytes | None, int]] = {}
    previous = -1
    for segment in log.log_segments:
        for batch in segment.log.batches():
            assert batch.is_valid()
            assert batch.base_offset() > previous
            previous = batch.last_offset()
            if batch.is_control_batch():
                continue
            is_aborted = batch.is_transactional() and any(
                t.producer_id == batch.producer_id() and t.first_offset <= batch.base_offset() <= t.last_offset
                for t in aborted
            )
            for r in batch:
                k, v = bytes(r.key() or b""), None if r.value() is None else bytes(r.value() or b"")
                if is_aborted:
                    assert r.offset() not in model.written
                    continue
                assert model.written[r.offset()] == (k, v)
                seen[k] = (v, r.offset())
    assert {k: v for k, v in seen.items() if v[0] is not None} == {
        k: v for k, v in model.values.items() if v[0] is not None
    }
    for k, last in model.values.items():
        assert last[0] is not None or seen.get(k, last) == last, "a deleted key came back"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_model_with_random_records_passes_and_crashes(
    logs: Logs, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    config = cleaner_config(
        segment_bytes=rng.choice([700, 1500, 5000]), index_interval_bytes=rng.choice([1, 200]), file_delete_delay_ms=10
    )
    log = logs.create(config)
    model, sequences, dirty = Model(), dict[int, int](), 0
    copy = tmp_path / "data2" / "topic-0"
    steps = Steps(logs.dir, copy, monkeypatch)
    for _ in range(10):
        for _ in range(rng.randrange(1, 25)):
            append_something(rng, logs, log, model, sequences)
        log.roll()
        # how much fits into the map: sometimes only a part of the dirty keys
        cleaner = make_cleaner(
            logs.time,
            offset_map=SkimpyOffsetMap(24 * rng.choice([8, 20, 400])),
            max_message_size=rng.choice([100, 9999]),
        )
        log.flush()
        end = log.log_end_offset
        crash = rng.random() < 0.4
        steps.count, steps.crash_at = 0, rng.randrange(40) if crash else -1
        horizon = rng.choice([0, 0, log.log_segments[-1].last_modified + 10**6])
        segments_before = len(log.log_segments)
        new_dirty, _ = cleaner.do_clean(to_clean(log, dirty), horizon)
        crashed = crash and steps.count > steps.crash_at
        steps.crash_at = -1
        if crashed:
            logs.time.scheduler.clear()
            logs.crash(log)
            shutil.rmtree(logs.dir)
            shutil.copytree(copy, logs.dir)
            if rng.random() < 0.5:
                logs.delete_producer_snapshot_files()
            log = logs.create(config)
            assert log.log_end_offset == end
            assert log.first_unstable_offset is None
        else:
            dirty = new_dirty
            assert len(log.log_segments) <= segments_before
        check_against(model, log)
        logs.time.sleep(11)
    state = log.active_producers_with_last_sequence()
    assert {pid: s for pid, s in state.items() if s >= 0} == {pid: n - 1 for pid, n in sequences.items()}
