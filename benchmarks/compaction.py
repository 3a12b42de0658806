"""How fast a log is compacted.

    python -m benchmarks.compaction [--mb 1000] [--keys 1000000] [--value 100] [--batch 100] [--codec none] [--clean]
    python -m benchmarks.compaction --beside kafka-1.1.1 -n 3

A log of so many megabytes, whose records take their keys at random, is written to a temporary directory and cleaned
once by a Cleaner with the default settings of a broker. Printed: the MB/s of Kafka's own log line ("MB of log
processed", the dirty bytes by the time of the whole pass), those of its two halves, and the share that was kept.
`--clean` compacts the result once more after a tenth of new records. `--value` is the size of a value in bytes; with
`--spread` sizes go from half of it to one and a half.

`--beside BROKER` lets brokers do it: ours and that one start in turn, n times each, on copies of the log, and what
their own log line says is compared, as is what they left: the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import random
import re
import resource
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Iterator

from crc32c import crc32c

from benchmarks.brokers import Broker
from benchmarks.frames import varint
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.common.utils.time import Time
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.cleaner_stats import CleanerStats, LogToClean
from kafka_py.log.log import Log
from kafka_py.log.log_config import LogConfig
from kafka_py.log.offset_map import SkimpyOffsetMap
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.throttler import Throttler

MB = 1024 * 1024
DEDUPE_BUFFER = 128 * MB
IO_BUFFER = 512 * 1024
MAX_MESSAGE = 1000012
TOPIC = "compacted"
# The statistics that a cleaner logs when it has cleaned a log; ours are Kafka's.
CLEANED = re.compile(r"([\d,.]+) MB of log processed in ([\d,.]+) seconds")
LONGEST_PASS_S = 300.0


def batches(options: argparse.Namespace, size: int) -> Iterator[bytes]:
    """Batches until they have so many bytes together."""
    rng = random.Random(1)
    value = rng.randbytes(2 * options.value)
    deltas = [varint(i) for i in range(options.batch)]
    codec = CompressionType.for_name(options.codec)
    written = 0
    now = Time.SYSTEM.milliseconds()
    while written < size:
        parts = []
        for delta in deltas:
            key = b"key-%012d" % rng.randrange(options.keys)
            length = options.value
            if options.spread:
                length = rng.randrange(length // 2, length + length // 2)
            body = b"\0\0" + delta + varint(len(key)) + key + varint(length) + value[:length] + b"\0"
            parts += [varint(len(body)), body]
        records = b"".join(parts)
        if codec.id:
            stream = ByteBufferOutputStream()
            compressor = codec.wrap_for_output(stream, 2)
            compressor.write(records)
            compressor.close()  # type: ignore[attr-defined]
            records = bytes(stream.buffer)
        count = options.batch
        checked = struct.pack(">hiqqqhii", codec.id, count - 1, now, now, -1, -1, -1, count) + records
        batch = struct.pack(">qiibI", 0, 9 + len(checked), 0, 2, crc32c(checked)) + checked
        written += len(batch)
        yield batch


def append(log: Log, source: Iterator[bytes]) -> None:
    """Append batches; the log gives them their offsets."""
    for batch in source:
        log.append_as_leader(MemoryRecords(bytearray(batch)), leader_epoch=0)


def compact(log: Log, cleaner: Cleaner, first_dirty_offset: int) -> tuple[int, CleanerStats]:
    """One pass over everything but the active segment."""
    log.roll()
    return cleaner.clean(LogToClean(log.topic_partition, log, first_dirty_offset, log.active_segment.base_offset))


def report(name: str, stats: CleanerStats) -> None:
    """The figures of a pass."""
    index, total = stats.elapsed_index_secs, stats.elapsed_secs
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{name}: {stats.bytes_read / MB:.0f} MB, {stats.messages_read} records in {total:.2f} s: "
        f"{stats.bytes_read / MB / total:.1f} MB/s, {stats.messages_read / total:,.0f} records/s; index "
        f"{stats.map_bytes_read / MB / index:.1f} MB/s, clean {stats.bytes_read / MB / (total - index):.1f} MB/s; "
        f"kept {stats.messages_written} records, {stats.bytes_written / MB:.0f} MB; "
        f"map {100 * stats.buffer_utilization:.0f}% full; peak memory {peak} MB"
    )


def shut_down_cleanly(log_dir: pathlib.Path, end: int) -> None:
    """What a broker leaves when it stops, so that the next one need not recover the log."""
    (log_dir / ".kafka_cleanshutdown").touch()
    (log_dir / "recovery-point-offset-checkpoint").write_text(f"0\n1\n{TOPIC} 0 {end}\n")


def digest(log_dir: pathlib.Path) -> str:
    """Of the segments that are not empty, by name and content."""
    found = hashlib.blake2b(digest_size=8)
    for path in sorted((log_dir / f"{TOPIC}-0").glob("*.log")):
        if path.stat().st_size:
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def clean_with(spec: str, written: pathlib.Path) -> tuple[float, str]:
    """Start a broker on a copy of the log directory and wait for its cleaner: MB/s, and a digest of what it left."""
    with tempfile.TemporaryDirectory() as directory:
        log_dir = pathlib.Path(directory, "data")
        shutil.copytree(written, log_dir)
        properties = {
            "log.dirs": str(log_dir),
            "log.cleanup.policy": "compact",
            "log.cleaner.min.cleanable.ratio": "0.01",
            "log.cleaner.backoff.ms": "500",
            "log.retention.check.interval.ms": "600000",
        }
        with Broker(spec, properties=properties) as broker:
            deadline = time.perf_counter() + LONGEST_PASS_S
            while True:
                logs = [broker.home / "server.log", broker.home / "logs" / "log-cleaner.log"]
                texts = [path.read_text(errors="replace") for path in logs if path.exists()]
                found = CLEANED.search("".join(texts))
                if found:
                    break
                if broker.has_died or time.perf_counter() > deadline:
                    raise RuntimeError(f"{spec} cleaned nothing:\n" + "".join(texts)[-3000:])
                time.sleep(0.2)
            time.sleep(1)  # until the files of before are gone
        megabytes, seconds = (float(text.replace(",", "")) for text in found.groups())
        return megabytes / seconds, digest(log_dir)


def beside(other: str, written: pathlib.Path, rounds: int) -> int:
    """Both in turn; prints each pass and the ratio of the medians, and 1 if they left different logs."""
    specs = ("kafka_py", other)
    speeds: dict[str, list[float]] = {spec: [] for spec in specs}
    left: dict[str, str] = {}
    for i in range(rounds):
        for spec in specs:
            speed, left[spec] = clean_with(spec, written)
            speeds[spec].append(speed)
            print(f"{i + 1} {spec}: {speed:.1f} MB/s, left {left[spec]}", flush=True)
    ours, theirs = (statistics.median(speeds[spec]) for spec in specs)
    same = len(set(left.values())) == 1
    print(f"kafka_py {ours:.1f} MB/s, {other} {theirs:.1f} MB/s: {ours / theirs:.2f}; ", end="")
    print("they left the same bytes" if same else "what they left DIFFERS")
    return 0 if same else 1


def main(arguments: list[str]) -> int:
    """Parse, write, compact, print."""
    parser = argparse.ArgumentParser(description="How fast a log is compacted.")
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--value", type=int, default=100)
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--segment-mb", type=int, default=100)
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--beside", metavar="BROKER")
    parser.add_argument("-n", "--rounds", type=int, default=2)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        log_dir = pathlib.Path(directory, f"{TOPIC}-0")
        log_dir.mkdir()
        scheduler = MockTime().scheduler  # nothing in the background
        log = Log.apply(
            dir=log_dir,
            config=LogConfig({"cleanup.policy": "compact", "segment.bytes": options.segment_mb * MB}),
            log_start_offset=0,
            recovery_point=0,
            scheduler=scheduler,
            broker_topic_stats=BrokerTopicStats(),
            time=Time.SYSTEM,
            max_producer_id_expiration_ms=3600_000,
            producer_id_expiration_check_interval_ms=600_000,
            log_dir_failure_channel=LogDirFailureChannel(1),
        )
        start = time.perf_counter()
        append(log, batches(options, options.mb * MB))
        print(f"written in {time.perf_counter() - start:.1f} s")
        if options.beside:
            log.roll()
            log.flush()
            log.close()
            shut_down_cleanly(pathlib.Path(directory), log.log_end_offset)
            return beside(options.beside, pathlib.Path(directory), options.rounds)
        throttler = Throttler(sys.float_info.max, 300, time=Time.SYSTEM)
        cleaner = Cleaner(
            0, SkimpyOffsetMap(DEDUPE_BUFFER), IO_BUFFER // 2, MAX_MESSAGE, 0.9, throttler, Time.SYSTEM, lambda _: None
        )
        if options.profile:
            import cProfile
            import pstats

            profile = cProfile.Profile()
            dirty, stats = profile.runcall(compact, log, cleaner, 0)
            pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        else:
            dirty, stats = compact(log, cleaner, 0)
        report("all dirty", stats)
        if options.clean:
            append(log, batches(options, options.mb * MB // 10))
            report("a tenth dirty", compact(log, cleaner, dirty)[1])
        log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
