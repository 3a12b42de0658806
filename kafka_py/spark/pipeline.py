"""A pipeline one can run and change: a topic, parsed, summed up by windows, into Parquet and back into a topic.

    bin/kafka-pipeline.py --demo                         a broker and traffic of its own, for 40 s, then a picture
    bin/kafka-pipeline.py --bootstrap-server … --topic access-log --output out --sink-topic page-views
    bin/kafka-pipeline.py --log-dirs /var/kafka --topic access-log --output out --mode batch
    bin/kafka-pipeline.py … --steps my_steps.py                          steps of one's own, see access_log.py

With ``--log-dirs`` the records come out of the files; with a bootstrap server beside them as far as the broker says
they are committed, without one as far as its checkpoint does, which is up to five seconds older. With a bootstrap
server alone they are fetched. Interrupted and started again with the same ``--output``, a stream goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py import spark as kafka_spark
from kafka_py.common.utils.time import Time
from kafka_py.spark.local_session import is_spark_installed, reason_of, start_spark
from kafka_py.spark.pipeline_picture import Sample, draw
from kafka_py.utils.concurrent import CountDownLatch

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kafka_py.testing.local_cluster import LocalCluster

BATCH, STREAM = "batch", "stream"
DEMO_TOPIC, DEMO_SINK = "access-log", "page-views"
_POLL_MS = 300
_LONGEST_END_MS = 10_000
_STEPS = ("parse", "aggregate", "to_records")
_TIMEOUT_S = 30


def parse_arguments(args: Sequence[str]) -> argparse.Namespace:
    """The options. Leaves with argparse's message for those that make no sense."""
    parser = argparse.ArgumentParser(
        prog="kafka-pipeline.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log-dirs", help="the log.dirs of the brokers, separated by commas")
    parser.add_argument("--bootstrap-server", help="a broker; needed for --sink-topic")
    parser.add_argument("--topic", help="what to read (default of --demo: access-log)")
    parser.add_argument("--output", help="directory for Parquet, checkpoints and the picture")
    parser.add_argument("--sink-topic", help="where the sums go as well")
    parser.add_argument("--mode", choices=(STREAM, BATCH), default=STREAM)
    parser.add_argument("--steps", help="a Python file with parse, aggregate and to_records")
    parser.add_argument("--starting-offsets", default="earliest", help="earliest, latest or JSON")
    parser.add_argument("--max-offsets-per-trigger", type=int, help="records of a micro-batch at most")
    parser.add_argument("--trigger", default="1 second", help="how often a micro-batch begins")
    parser.add_argument("--seconds", type=float, help="how long a stream runs (default: until Ctrl-C; --demo: 40)")
    parser.add_argument("--once", action="store_true", help="a stream ends when all that is there now is done")
    parser.add_argument("--picture", help="PNG of throughput and lag (default: pipeline.png in the output)")
    parser.add_argument("--demo", action="store_true", help="start a broker and send records to it")
    parser.add_argument("--rate", type=int, default=5000, help="records a second of the demonstration")
    options = parser.parse_args(args)
    if options.demo:
        options.topic = options.topic or DEMO_TOPIC
        options.sink_topic = options.sink_topic or DEMO_SINK
        options.seconds = options.seconds or 40
        options.max_offsets_per_trigger = options.max_offsets_per_trigger or 6 * options.rate
    elif not options.topic or not (options.log_dirs or options.bootstrap_server):
        parser.error("--topic and one of --log-dirs and --bootstrap-server are needed, or --demo")
    if options.sink_topic and not (options.bootstrap_server or options.demo):
        parser.error("--sink-topic needs --bootstrap-server")
    return options


def load_steps(path: str | None) -> ModuleType:
    """The module of steps. Raises ValueError for a file that has not all of them."""
    if path is None:
        from kafka_py.spark import access_log

        return access_log
    spec = importlib.util.spec_from_file_location("pipeline_steps", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    missing = [name for name in _STEPS if not callable(getattr(module, name, None))]
    if missing:
        raise ValueError(f"{path} has no function {', '.join(missing)}")
    return module


class Pipeline:
    """One run: where it reads, which steps it takes, where the results go."""

    def __init__(
        self,
        spark: SparkSession,
        options: argparse.Namespace,
        output: pathlib.Path,
        before_the_end: Callable[[], object] | None = None,
    ) -> None:
        """``output`` gets the directories parquet and checkpoints. Raises ValueError for steps that are not there.

        ``before_the_end`` sees to it that no more records come; a stream then ends when all of them are read.
        """
        self._spark = spark
        self._options = options
        self._steps = load_steps(options.steps)
        self._output = output
        self.parquet = output / "parquet"
        self.samples: list[Sample] = []
        self._before_the_end = before_the_end
        self._told = -1  # thread: main
        self._stop = CountDownLatch(1)
        self._time = Time.SYSTEM

    def _source(self) -> dict[str, str]:
        given = self._options
        source = {"startingOffsets": given.starting_offsets}
        if given.bootstrap_server:
            source["kafka.bootstrap.servers"] = given.bootstrap_server
        if given.max_offsets_per_trigger and given.mode == STREAM:
            source["maxOffsetsPerTrigger"] = str(given.max_offsets_per_trigger)
        return source

    def _aggregated(self, records: DataFrame) -> DataFrame:
        result: DataFrame = self._steps.aggregate(self._steps.parse(records))
        return result

    def _sink(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self._options.bootstrap_server, "topic": self._options.sink_topic}

    def run_batch(self) -> int:
        """All that is there, once; the number of sums written."""
        given = self._options
        records = kafka_spark.read(self._spark, given.log_dirs or (), given.topic, **self._source())
        sums = self._aggregated(records).cache()
        began = self._time.hi_res_clock_ms()
        sums.write.mode("overwrite").parquet(str(self.parquet))
        if given.sink_topic:
            self._to_topic(self._steps.to_records(sums), 0)
        count = sums.count()
        print(f"{count} sums in {(self._time.hi_res_clock_ms() - began) / 1000:.1f} s")
        return count

    def run_stream(self) -> int:
        """Until Ctrl-C, the time is up, or all is done (--once); the number of records read.

        Two queries with a checkpoint each: complete windows go into Parquet once, by Spark's own file sink; the sums as
        they stand go into the topic after every micro-batch. Raises StreamingQueryException when a query fails.
        """
        given = self._options
        records = kafka_spark.read_stream(self._spark, given.log_dirs or (), given.topic, **self._source())
        sums = self._aggregated(records)
        complete = sums.writeStream.outputMode("append").format("parquet").option("path", str(self.parquet))
        queries = [self._start(complete, "parquet")]
        if given.sink_topic:
            # A Python sink does not take "update"; what is written after a batch may be any DataFrame.
            as_they_stand = self._steps.to_records(sums).writeStream.outputMode("update").foreachBatch(self._to_topic)
            queries.append(self._start(as_they_stand, "topic"))
        before = signal.signal(signal.SIGINT, lambda *_: self._stop.count_down())
        try:
            self._watch(queries)
        finally:
            signal.signal(signal.SIGINT, before)
            for query in queries:
                query.stop()
        return sum(sample.rows for sample in self.samples)

    def _start(self, writer: DataStreamWriter, name: str) -> StreamingQuery:
        trigger: dict[str, Any] = {"processingTime": self._options.trigger}
        if self._options.once:
            trigger = {"availableNow": True}
        checkpoints = str(self._output / "checkpoints" / name)
        return writer.queryName(name).option("checkpointLocation", checkpoints).trigger(**trigger).start()

    def _to_topic(self, records: DataFrame, batch_id: int) -> None:
        """At least once: a batch that failed in the middle is written again, with the same keys and values."""
        records.write.format(kafka_spark.FORMAT).mode("append").options(**self._sink()).save()

    def _watch(self, queries: list[StreamingQuery]) -> None:
        """Tell of each micro-batch of the last query (the topic's, if there is one) until it is time to end.

        The time runs from the first one: a session takes a while to warm up.
        """
        ends: float | None = None
        while any(query.isActive for query in queries):
            if self._tell_news(queries) and ends is None and self._options.seconds is not None:
                ends = self._time.hi_res_clock_ms() + self._options.seconds * 1000
            if self._stop.await_(_POLL_MS) or (ends is not None and self._time.hi_res_clock_ms() >= ends):
                self._finish(queries)
                break
        self._tell_news(queries)

    def _finish(self, queries: list[StreamingQuery]) -> None:
        """Without new records, do what is left; else end between two micro-batches, if there is such a moment."""
        if self._before_the_end is not None:
            self._before_the_end()
            for query in queries:
                query.processAllAvailable()
            return
        deadline = self._time.hi_res_clock_ms() + _LONGEST_END_MS
        for query in queries:
            while query.isActive and query.status["isTriggerActive"] and self._time.hi_res_clock_ms() < deadline:
                self._time.sleep(20)

    def _tell_news(self, queries: list[StreamingQuery]) -> bool:
        """Print what is new; whether there has been anything. Raises StreamingQueryException."""
        for query in queries:
            failure = query.exception()
            if failure is not None:
                raise failure
        progresses = queries[-1].recentProgress
        for progress in progresses:
            if progress["batchId"] > self._told:
                self._told = progress["batchId"]
                self._tell(progress)
        return bool(progresses)

    def _tell(self, progress: Any) -> None:
        sample = Sample.of(progress)
        if not sample.rows and not self.samples:
            return  # nothing has come yet
        self.samples.append(sample)
        if sample.rows:
            print(
                f"batch {sample.batch:4}: {sample.rows:9,} records in {sample.seconds:5.2f} s "
                f"({sample.rows_per_second:10,.0f}/s), {sample.lag:9,} behind",
                flush=True,
            )

    def stop(self) -> None:
        """End a stream as Ctrl-C does."""
        self._stop.count_down()


class Totals(NamedTuple):
    """What the topic of sums says: how many windows and keys, and how many records they count together."""

    keys: int
    counted: int


def totals(spark: SparkSession, bootstrap_server: str, topic: str) -> Totals:
    """The last record of each key of the topic of sums; a transport of its own, the Fetch requests of a consumer."""
    from pyspark.sql import functions as f

    rows = kafka_spark.read(spark, subscribe=topic, **{"kafka.bootstrap.servers": bootstrap_server})
    last = rows.groupBy("key").agg(f.max_by("value", f.struct("partition", "offset")).alias("value"))
    views = f.get_json_object(last.value.cast("string"), "$.views").cast("long")
    row = last.agg(f.count("*").alias("keys"), f.coalesce(f.sum(views), f.lit(0)).alias("views")).first()
    assert row is not None, "an aggregate without groups has one row"
    return Totals(row["keys"], row["views"])


class Traffic:
    """Sends samples to a topic at a steady rate, on a thread of its own."""

    def __init__(self, bootstrap_server: str, topic: str, rate: int) -> None:
        """``rate`` is in records a second."""
        from kafka_py.common.utils.kafka_thread import KafkaThread

        self._bootstrap_server = bootstrap_server
        self._topic = topic
        self._rate = rate
        self._chosen = random.Random(1)
        self._stop = CountDownLatch(1)
        self._thread = KafkaThread.daemon_thread("pipeline-traffic", self._run)
        self.sent = 0  # volatile: pipeline-traffic

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def _run(self) -> None:
        from confluent_kafka import Producer

        from kafka_py.spark import access_log

        config = {"bootstrap.servers": self._bootstrap_server, "linger.ms": 20, "enable.idempotence": True}
        producer = Producer(config)
        began = Time.SYSTEM.hi_res_clock_ms()
        while not self._stop.await_(20):
            due = int((Time.SYSTEM.hi_res_clock_ms() - began) * self._rate / 1000)
            now = datetime.datetime.now(datetime.UTC)
            for _ in range(due - self.sent):
                key, value = access_log.sample(self._chosen, now)
                producer.produce(self._topic, value, key)
                self.sent += 1
            producer.poll(0)
        producer.flush(_TIMEOUT_S)

    def finish(self) -> None:
        """Send no more; returns when everything is acknowledged."""
        self._stop.count_down()
        self._thread.join()


def create_topics(bootstrap_server: str, *topics: str) -> None:
    """Two partitions each. Raises KafkaException, but not for a topic that there is."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient({"bootstrap.servers": bootstrap_server})
    for future in admin.create_topics([NewTopic(name, 2, 1) for name in topics]).values():
        try:
            future.result(_TIMEOUT_S)
        except KafkaException as e:
            if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


@contextlib.contextmanager
def demonstration(options: argparse.Namespace) -> Iterator[Traffic]:
    """A broker with the two topics, and traffic that has begun; sets the options that say where they are."""
    from kafka_py.testing.local_cluster import LocalCluster

    cluster: LocalCluster
    with LocalCluster(1) as cluster:
        broker = cluster.brokers[0]
        options.bootstrap_server = broker.address
        options.log_dirs = ",".join(map(str, broker.log_dirs))
        create_topics(broker.address, options.topic, options.sink_topic)
        print(f"A broker at {broker.address}, its log in {options.log_dirs}, {options.rate:,} records a second")
        traffic = Traffic(broker.address, options.topic, options.rate)
        traffic.start()
        try:
            yield traffic
        finally:
            traffic.finish()


def run(spark: SparkSession, options: argparse.Namespace, output: pathlib.Path, traffic: Traffic | None = None) -> int:
    """The pipeline, its picture and its sums; 1 if a demonstration lost or doubled a record."""
    pipeline = Pipeline(spark, options, output, traffic.finish if traffic else None)
    read = 0
    if options.mode == BATCH:
        pipeline.run_batch()
    else:
        read = pipeline.run_stream()
        picture = pathlib.Path(options.picture or output / "pipeline.png")
        if pipeline.samples:
            draw(pipeline.samples, picture, f"{options.topic}: {read:,} records", options.rate if traffic else None)
            print(f"The picture: {picture}")
    print(f"Parquet: {pipeline.parquet}")
    if not options.sink_topic:
        return 0
    found = totals(spark, options.bootstrap_server, options.sink_topic)
    print(f"Topic {options.sink_topic}: {found.keys:,} sums, which count {found.counted:,} records")
    if traffic is None or options.mode == BATCH:
        return 0
    same = traffic.sent == read == found.counted > 0
    print(f"Sent {traffic.sent:,}, read {read:,}, counted {found.counted:,}: " + ("equal." if same else "NOT EQUAL."))
    return 0 if same else 1


def main(args: Sequence[str]) -> int:
    """Run a pipeline as the command line says; the exit code. Raises JavaNotFoundError where there is no Java."""
    options = parse_arguments(args)
    if not is_spark_installed():
        return 1
    from pyspark.errors import PySparkException

    if options.output is None:
        options.output = tempfile.mkdtemp(prefix="kafka-pipeline-")
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    (output / "options.json").write_text(json.dumps(vars(options), indent=2) + "\n")
    with tempfile.TemporaryDirectory(prefix="kafka-pipeline-") as home:
        spark = start_spark("kafka-pipeline", pathlib.Path(home))
        try:
            if not options.demo:
                return run(spark, options, output)
            with demonstration(options) as traffic:
                return run(spark, options, output, traffic)
        except (OSError, ValueError, PySparkException) as e:
            print(f"Error: {reason_of(e)}", file=sys.stderr)
            return 1
        finally:
            spark.stop()
