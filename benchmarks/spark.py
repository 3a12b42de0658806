"""The Spark module beside Parquet, CSV and Spark's own Kafka source: processor time for the same rows.

    python -m benchmarks.spark [-r RECORDS] [-n ROUNDS] [-w scan,archive,batches,window,follow,kafka]

Makes a log directory with its own encoder (four partitions, 16 KiB batches, values of 100 bytes) in a temporary place,
and Parquet and CSV files of the same rows. Contestants run in turn, round by round; the median counts. Seconds are
processor seconds of Spark's JVM and all its Python workers, which hardly depend on what else the machine does.

scan      every column of every record into nothing, beside snappy Parquet and CSV; of one column; a count
archive   topic -> Parquet, beside Spark's own copy of the same rows from Parquet to Parquet
batches   kafka_batches with the CRC of every byte
window    what share of a log is read for 1,000 records by offset and by time, in bytes out of /proc
follow    how far behind the high watermark a stream on a live broker is, in ms
kafka     topics of a live broker, values of 100, 500 and 1,000 bytes: files, Fetch, and Spark's own Kafka source (four
          jars, see KAFKA_JARS)
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.arrow import rows
from benchmarks.measure import TICKS_PER_S, quantile
from benchmarks.report import environment, markdown, number
from kafka_py import spark as kafka_spark
from kafka_py.spark.archive import archive
from kafka_py.spark.arrow_encoder import RecordBatchEncoder
from kafka_py.spark.local_session import start_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kafka_py.testing.local_cluster import LocalBroker

TOPIC = "clicks"
PARTITIONS = 4
SEGMENT_BYTES = 64 << 20
INDEX_INTERVAL = 4096
ALL = ("scan", "archive", "batches", "window", "follow", "kafka")
# A directory with spark-sql-kafka-0-10, spark-token-provider-kafka-0-10, kafka-clients and commons-pool2.
KAFKA_JARS = "KAFKA_SOURCE_JARS"
VALUE_SIZES = {100: 2_000_000, 500: 1_000_000, 1_000: 600_000}  # bytes -> records of workload kafka
FOLLOW_S = 15.0
RATE = 2000
_FIRST_MS = 1_790_000_000_000


# -- what processes cost ---------------------------------------------------------------------------------------------


def family_cpu_s(others: Collection[int] = ()) -> float:
    """Processor seconds of this process's descendants so far, of those that have ended too; without some and theirs."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
                parents[int(name)] = int(fields[1])
                ticks[int(name)] = sum(map(int, fields[11:15]))  # with its reaped children
    found, generation = 0, {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation and pid not in others}
        found += sum(ticks[pid] for pid in generation)
    return found / TICKS_PER_S


def family_read_bytes() -> int:
    """Bytes that this process and the Spark workers have read by system calls so far."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


class Contest:
    """Runs contestants in turn and keeps what each round of each cost."""

    def __init__(
        self,
        title: str,
        contestants: dict[str, Callable[[], object]],
        rounds: int,
        records: int,
        others: Collection[int] = (),
    ) -> None:
        """``others`` are processes whose time is not theirs: a broker's."""
        self.title = title
        self._others = others
        self._contestants = contestants
        self._rounds = rounds
        self._records = records
        self.cpu: dict[str, list[float]] = {name: [] for name in contestants}
        self.wall: dict[str, list[float]] = {name: [] for name in contestants}

    def run(self) -> Contest:
        for name, contestant in self._contestants.items():  # the JVM compiles what it runs often
            contestant()
            print(f"warm: {self.title}, {name}", file=sys.stderr)
        order = list(self._contestants.items())
        for i in range(self._rounds):
            for name, contestant in order[i % len(order) :] + order[: i % len(order)]:  # none always follows the same
                cpu, wall = family_cpu_s(self._others), time.perf_counter()
                contestant()
                self.wall[name].append(time.perf_counter() - wall)
                self.cpu[name].append(family_cpu_s(self._others) - cpu)
            print(f"round {i + 1} of {self._rounds}: {self.title}", file=sys.stderr)
        return self

    def ratio(self, one: str, other: str) -> float:
        """Processor time of one by that of the other: the median of neighbours' ratios."""
        return statistics.median(a / b for a, b in zip(self.cpu[one], self.cpu[other], strict=True))

    def table(self) -> str:
        body = []
        for name in self._contestants:
            cpu, wall = statistics.median(self.cpu[name]), statistics.median(self.wall[name])
            body.append([name, number(cpu), number(wall), number(self._records / cpu / 1e6)])
        return markdown([self.title, "CPU s", "wall s", "M records/CPU s"], body)


# -- data ------------------------------------------------------------------------------------------------------------


def write_log(home: pathlib.Path, table: pa.Table) -> int:
    """A log directory of the table's rows, dealt to the partitions in one piece each; its bytes."""
    size = 0
    share = table.num_rows // PARTITIONS
    marks = []
    for partition in range(PARTITIONS):
        directory = home / f"{TOPIC}-{partition}"
        directory.mkdir(parents=True)
        encoder = RecordBatchEncoder(batch_size=16384)
        piece = table.slice(partition * share, share)
        size += _write_segments(directory, encoder, piece)
        marks.append(f"{TOPIC} {partition} {share}")
    (home / "replication-offset-checkpoint").write_text("\n".join(["0", str(PARTITIONS), *marks, ""]))
    (home / "meta.properties").write_text("version=0\nbroker.id=0\n")
    return size


def fill(address: str, topic: str, size: int, count: int) -> None:
    """Records whose values have so many bytes, from a producer with 16 KiB batches."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "batch.size": 16384})
    for i in range(count):
        while True:
            try:
                producer.produce(topic, b"%0*d" % (size, i), b"%08d" % i)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise TimeoutError(f"{len(producer)} records of {topic} were not taken within a minute")


def _write_segments(directory: pathlib.Path, encoder: RecordBatchEncoder, table: pa.Table) -> int:
    log, index, times, base, total, since = bytearray(), bytearray(), bytearray(), 0, 0, 0

    def finish() -> int:
        stem = directory / f"{base:020}"
        stem.with_suffix(".log").write_bytes(log)
        stem.with_suffix(".index").write_bytes(index)
        stem.with_suffix(".timeindex").write_bytes(times)
        return len(log)

    for batch in encoder.encode_batches(table, base_offset=0):
        if len(log) + len(batch.data) > SEGMENT_BYTES:
            total += finish()
            log, index, times, base, since = bytearray(), bytearray(), bytearray(), batch.base_offset, 0
        if since > INDEX_INTERVAL:
            index += (batch.last_offset - base).to_bytes(4, "big") + len(log).to_bytes(4, "big")
            times += batch.max_timestamp.to_bytes(8, "big") + (batch.offset_of_max_timestamp - base).to_bytes(4, "big")
            since = 0
        log += batch.data
        since += len(batch.data)
    return total + finish()


# -- workloads -------------------------------------------------------------------------------------------------------


def to_nothing(frame: DataFrame) -> None:
    """Make every row and throw it away."""
    frame.write.format("noop").mode("overwrite").save()


class Benchmark:
    """The workloads over one data set."""

    def __init__(self, spark: SparkSession, home: pathlib.Path, options: argparse.Namespace) -> None:
        self._spark = spark
        self._home = home
        self._rounds = options.rounds
        self._records = options.records // PARTITIONS * PARTITIONS
        self._log_dir = home / "log"
        self._others: set[int] = set()
        self.bars: list[tuple[str, str, str]] = []
        table = rows(min(self._records, 200_000))
        import pyarrow

        table = pyarrow.concat_tables([table] * (self._records // table.num_rows))
        column = table.schema.get_field_index("timestamp")
        rising = pyarrow.array(_FIRST_MS + np.arange(table.num_rows) // 5).cast(pyarrow.timestamp("ms", "UTC"))
        table = table.set_column(column, "timestamp", rising.cast(table.schema.field(column).type))
        self._records = table.num_rows
        self.size = write_log(self._log_dir, table)
        self._parquet, self._csv = home / "parquet", home / "csv"
        print(f"{self._records:,} records, {self.size / 1e6:,.0f} MB of log", file=sys.stderr)

    def _segments(self, columns: Sequence[str] | None = None) -> DataFrame:
        return kafka_spark.read(self._spark, str(self._log_dir), TOPIC, columns)

    def _make_files(self) -> None:
        if self._parquet.exists():
            return
        frame = self._segments()
        frame.write.option("compression", "snappy").parquet(str(self._parquet))
        texts = frame.selectExpr(
            "cast(key as string)", "cast(value as string)", "topic", "partition", "offset", "timestamp", "timestampType"
        )
        texts.write.csv(str(self._csv), escape='"')

    def _from_parquet(self) -> DataFrame:
        return self._spark.read.parquet(str(self._parquet))

    def scan(self) -> Iterator[str]:
        """Every record."""
        self._make_files()
        schema = "key string, value string, topic string, partition int, offset long, timestamp timestamp, type int"
        contest = Contest(
            "all columns",
            {
                "segments": lambda: to_nothing(self._segments()),
                "Parquet, snappy": lambda: to_nothing(self._from_parquet()),
                "CSV": lambda: to_nothing(self._spark.read.schema(schema).csv(str(self._csv), escape='"')),
                "segments, value only": lambda: to_nothing(self._segments(["value"])),
                "segments, count": lambda: self._segments(["offset"]).count(),
            },
            self._rounds,
            self._records,
        ).run()
        yield contest.table()
        self._bar("scan, CPU beside snappy Parquet", contest.ratio("segments", "Parquet, snappy"), "<=", 2.0)
        self._bar("scan, CSV's CPU beside it", contest.ratio("CSV", "segments"), ">=", 2.5)

    def archive(self) -> Iterator[str]:
        """Into Parquet."""
        self._make_files()
        target, copy = self._home / "archive", self._home / "copy"

        def own() -> None:
            shutil.rmtree(target, ignore_errors=True)
            archive(self._spark, str(self._log_dir), target, subscribe=TOPIC)

        def sparks() -> None:
            self._from_parquet().write.mode("overwrite").option("compression", "snappy").parquet(str(copy))

        contest = Contest(
            "into Parquet",
            {"archive": own, "Spark, Parquet -> Parquet": sparks},
            self._rounds,
            self._records,
        ).run()
        yield contest.table()
        speed = statistics.median(contest.wall["Spark, Parquet -> Parquet"]) / statistics.median(
            contest.wall["archive"]
        )
        self._bar("archive, beside Spark's copy", speed, ">=", 2.0)

    def batches(self) -> Iterator[str]:
        """Headers with CRC."""

        def view() -> None:
            frame = self._spark.read.format("kafka_batches").option("logDirs", str(self._log_dir)).load()
            assert frame.where("not crcValid").count() == 0

        contest = Contest("kafka_batches, CRC checked", {"batches": view}, self._rounds, self._records).run()
        yield contest.table()
        self._bar("batch view, GB/s", self.size / 1e9 / statistics.median(contest.wall["batches"]), ">=", 1.0)

    def window(self) -> Iterator[str]:
        """A thousand records, by the planner and the reader themselves, so that their bytes can be counted."""
        from kafka_py.spark.options import KafkaSourceOptions
        from kafka_py.spark.source import KafkaBatch

        middle = self._records // PARTITIONS // 2
        stamps = self._segments(["partition", "offset", "timestamp"])
        row = stamps.where(f"partition = 1 and offset = {middle}").first()
        assert row is not None
        first_ms = int(row["timestamp"].timestamp() * 1000)
        by_offset = {
            "startingOffsets": f'{{"{TOPIC}": {{"1": {middle}}}}}',
            "endingOffsets": f'{{"{TOPIC}": {{"1": {middle + 1000}}}}}',
        }
        by_time = {"startingTimestamp": str(first_ms), "endingOffsets": by_offset["endingOffsets"]}
        body = []
        for name, limits in (("offset", by_offset), ("time", by_time)):
            given = {"logDirs": str(self._log_dir), "assign": f'{{"{TOPIC}": [1]}}', **limits}
            before = family_read_bytes()
            reader = KafkaBatch(KafkaSourceOptions(given), ("offset", "value"))
            found = sum(t.num_rows for piece in reader.partitions() for t in reader.read(piece))
            share = (family_read_bytes() - before) / self.size
            body.append([f"by {name}", f"{found:,}", f"{share * self.size / 1e3:,.0f} KB", f"{share:.3%}"])
            self._bar(f"window by {name}, share of the log that is read", share, "<=", 0.01)
        yield markdown(["window", "records", "read", "of the log"], body)

    def follow(self) -> Iterator[str]:
        """Time stamps of records against the moment at which the stream has them."""
        from confluent_kafka import Producer

        from kafka_py.spark.pipeline import create_topics
        from kafka_py.testing.local_cluster import LocalCluster

        late: list[float] = []

        def seen(frame: DataFrame, _: int) -> None:
            stamps = frame.selectExpr("cast(timestamp as double) as at").toArrow().column("at").to_pylist()
            now = time.time()
            late.extend(now - stamp for stamp in stamps)

        with LocalCluster(1) as cluster:
            broker = cluster.brokers[0]
            create_topics(broker.address, TOPIC)
            given = {"kafka.bootstrap.servers": broker.address, "startingOffsets": "earliest"}
            records = kafka_spark.read_stream(self._spark, [str(d) for d in broker.log_dirs], TOPIC, **given)
            query = records.writeStream.foreachBatch(seen).trigger(processingTime="0 seconds").start()
            stop = threading.Event()

            def produce() -> None:
                producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5})
                while not stop.wait(0.02):
                    for _ in range(RATE // 50):
                        producer.produce(TOPIC, b"x" * 100)
                    producer.poll(0)
                producer.flush(10)

            thread = threading.Thread(target=produce, name="follow-producer")
            thread.start()
            try:
                time.sleep(FOLLOW_S)  # the first batches compile the query
                late.clear()
                time.sleep(FOLLOW_S)
                ordered = sorted(late)
            finally:
                stop.set()
                thread.join()
                query.stop()
        p50, p95 = quantile(ordered, 0.5), quantile(ordered, 0.95)
        yield markdown(
            ["a stream on a live broker", "records", "p50 ms", "p95 ms", "worst ms"],
            [
                [
                    f"{RATE} records/s",
                    f"{len(ordered):,}",
                    number(p50 * 1e3),
                    number(p95 * 1e3),
                    number(ordered[-1] * 1e3),
                ]
            ],
        )
        self._bar("follow, p95 in s", p95, "<=", 1.0)

    def kafka(self) -> Iterator[str]:
        """Topics of a live broker, with values of several sizes."""
        from kafka_py.testing.local_cluster import LocalCluster

        with LocalCluster(1) as cluster:
            broker = cluster.brokers[0]
            self._others = {broker.process.pid}
            try:
                for size, records in VALUE_SIZES.items():
                    yield self._beside_kafka(broker, size, min(self._records, records))
            finally:
                self._others = set()

    def _beside_kafka(self, broker: LocalBroker, size: int, count: int) -> str:
        from kafka_py.spark.pipeline import create_topics

        topic = f"values-{size}"
        create_topics(broker.address, topic)
        fill(broker.address, topic, size, count)
        servers = {"kafka.bootstrap.servers": broker.address}
        dirs = [str(d) for d in broker.log_dirs]
        contestants: dict[str, Callable[[], object]] = {
            "files": lambda: to_nothing(kafka_spark.read(self._spark, dirs, topic, **servers)),
            "Fetch": lambda: to_nothing(kafka_spark.read(self._spark, (), topic, **servers)),
        }
        own = "Spark's Kafka source"
        if os.environ.get(KAFKA_JARS):
            reader = self._spark.read.format("kafka").options(subscribe=topic, **servers)
            contestants[own] = lambda: to_nothing(reader.load())
        title = f"{count:,} records of {size:,} bytes"
        contest = Contest(title, contestants, self._rounds, count, self._others).run()
        if own in contestants:
            for name in ("files", "Fetch"):
                goal = f"{name}, records of {size:,} bytes per CPU s beside Spark's Kafka source"
                self._bar(goal, contest.ratio(own, name), ">=", 2.0 if size <= 100 else 1.5)
        self._bar(f"files beside Fetch, CPU for records of {size:,} bytes", contest.ratio("files", "Fetch"), "<=", 1.0)
        return contest.table()

    def _bar(self, name: str, value: float, relation: str, wanted: float) -> None:
        reached = value <= wanted if relation == "<=" else value >= wanted
        shown = f"{value:.3%}" if wanted < 0.1 else f"{value:.2f}"
        self.bars.append((name, shown, f"{relation} {wanted:g}: " + ("reached" if reached else "MISSED")))


def session(home: pathlib.Path) -> SparkSession:
    """Two cores, as the bars are meant."""
    conf = {"spark.driver.memory": "3g"}
    jars = os.environ.get(KAFKA_JARS)
    if jars:
        conf["spark.jars"] = ",".join(map(str, sorted(pathlib.Path(jars).glob("*.jar"))))
    return start_spark("benchmark", home, "local[2]", conf)


def main(arguments: list[str]) -> int:
    """Make the data, run what was asked for, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-r", "--records", type=int, default=8_000_000)
    parser.add_argument("-n", "--rounds", type=int, default=3)
    parser.add_argument("-w", "--workloads", default="scan,archive,batches,window,follow")
    options = parser.parse_args(arguments)
    chosen = options.workloads.split(",") if options.workloads != "all" else list(ALL)
    if not set(chosen) <= set(ALL):
        parser.error(f"workloads are {', '.join(ALL)}")
    print(", ".join(f"{name}: {value}" for name, value in environment().items()))
    with tempfile.TemporaryDirectory(prefix="spark-benchmark-") as directory:
        spark = session(pathlib.Path(directory))
        try:
            benchmark = Benchmark(spark, pathlib.Path(directory), options)
            for name in chosen:
                for text in getattr(benchmark, name)():
                    print(f"\n{text}", flush=True)
            print("\n" + markdown(["goal", "measured", "wanted"], [list(bar) for bar in benchmark.bars]))
        finally:
            spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
