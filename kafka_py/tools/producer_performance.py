"""kafka-producer-perf-test: sends records as fast as asked for, or as can be, and tells how fast that was.

Mirrors: tools/src/main/java/org/apache/kafka/tools/ProducerPerformance.java @ 1.1.1
"""

from __future__ import annotations

import argparse
import pathlib
import random
from collections.abc import Iterator, Sequence
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import load_props
from kafka_py.tools.client_settings import connected
from kafka_py.tools.throughput_throttler import ThroughputThrottler
from kafka_py.tools.tools_utils import ClientMetrics, ToolArgumentParser, log_to_stderr
from kafka_py.utils.logging import get_logger

_REPORTING_INTERVAL_MS = 5000
_MAX_SAMPLES = 500_000
_MB = 1024 * 1024
_QUEUE_FULL_WAIT_S = 0.1


class Stats:
    """Counts what was acknowledged and how long it took, since the start and since the last line.

    Mirrors: org.apache.kafka.tools.ProducerPerformance.Stats
    Left out: nextCompletion -- librdkafka itself knows how long a record was under way
    Differs: what failed is not counted, but told.
    """

    def __init__(self, num_records: int, reporting_interval_ms: int, time: Time = Time.SYSTEM) -> None:
        self._time = time
        self._reporting_interval_ms = reporting_interval_ms
        self._sampling = max(num_records // min(max(num_records, 1), _MAX_SAMPLES), 1)
        self._start_ms = time.milliseconds()
        self._latencies: list[int] = []  # thread: main
        self._bytes = 0  # thread: main
        self.count = 0  # thread: main
        self.failures = 0  # thread: main
        self._max_latency = 0  # thread: main
        self._total_latency = 0  # thread: main
        self._new_window()

    def _new_window(self) -> None:
        self._window_start = self._time.milliseconds()  # thread: main
        self._window_count = 0  # thread: main
        self._window_max_latency = 0  # thread: main
        self._window_total_latency = 0  # thread: main
        self._window_bytes = 0  # thread: main

    def on_completion(self, error: KafkaError | None, message: Message) -> None:
        """A record was acknowledged, or was not."""
        if error is not None:
            self.failures += 1
            get_logger("org.apache.kafka.tools.ProducerPerformance").error("%s", error.str())
            return
        self.record(round((message.latency() or 0) * 1000), len(message), self._time.milliseconds())

    def record(self, latency_ms: int, length: int, now_ms: int) -> None:
        """A record of so many bytes took so long; prints a line when it is time for one."""
        if self.count % self._sampling == 0:
            self._latencies.append(latency_ms)
        self.count += 1
        self._bytes += length
        self._total_latency += latency_ms
        self._max_latency = max(self._max_latency, latency_ms)
        self._window_count += 1
        self._window_bytes += length
        self._window_total_latency += latency_ms
        self._window_max_latency = max(self._window_max_latency, latency_ms)
        if now_ms - self._window_start >= self._reporting_interval_ms:
            self.print_window()
            self._new_window()

    def print_window(self) -> None:
        """What happened since the last line."""
        elapsed = self._time.milliseconds() - self._window_start
        print(
            f"{self._window_count} records sent, {_per_second(self._window_count, elapsed):.1f} records/sec "
            f"({_per_second(self._window_bytes, elapsed) / _MB:.2f} MB/sec), "
            f"{self._window_total_latency / self._window_count:.1f} ms avg latency, "
            f"{self._window_max_latency:.1f} max latency.",
            flush=True,
        )

    def print_total(self) -> None:
        """What happened since the start."""
        elapsed = self._time.milliseconds() - self._start_ms
        average = self._total_latency / self.count if self.count else float("nan")
        p50, p95, p99, p999 = self._percentiles(0.5, 0.95, 0.99, 0.999)
        print(
            f"{self.count} records sent, {_per_second(self.count, elapsed):f} records/sec "
            f"({_per_second(self._bytes, elapsed) / _MB:.2f} MB/sec), {average:.2f} ms avg latency, "
            f"{self._max_latency:.2f} ms max latency, {p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )

    def _percentiles(self, *percentiles: float) -> list[int]:
        ordered = sorted(self._latencies) or [0]
        return [ordered[int(percentile * len(ordered))] for percentile in percentiles]


def _per_second(count: int, elapsed_ms: int) -> float:
    return 1000 * count / elapsed_ms if elapsed_ms else float("nan")


class ProducerPerformance:
    """One run.

    Mirrors: org.apache.kafka.tools.ProducerPerformance
    Left out: main, argParser -- functions of this module
    Thread: main; librdkafka's acknowledgements are counted on it, too, by ``poll``
    """

    def __init__(self, producer: Producer, args: argparse.Namespace, time: Time = Time.SYSTEM) -> None:
        self._producer = producer
        self._args = args
        self._time = time
        self._transactions_enabled = args.transaction_duration_ms > 0

    def run(self, payloads: Iterator[bytes]) -> Stats:
        """Send all records and wait until they are acknowledged."""
        args, producer = self._args, self._producer
        if self._transactions_enabled:
            producer.init_transactions()
        stats = Stats(args.num_records, _REPORTING_INTERVAL_MS, self._time)
        throttler = ThroughputThrottler(args.throughput, self._time.milliseconds(), self._time)
        transaction_size, transaction_start = 0, 0
        for i in range(args.num_records):
            send_start_ms = self._time.milliseconds()
            if self._transactions_enabled and transaction_size == 0:
                producer.begin_transaction()
                transaction_start = send_start_ms
            self._send(next(payloads), stats)
            transaction_size += 1
            if self._transactions_enabled and args.transaction_duration_ms <= send_start_ms - transaction_start:
                producer.commit_transaction()
                transaction_size = 0
            if throttler.should_throttle(i, send_start_ms):
                throttler.throttle()
        if self._transactions_enabled and transaction_size:
            producer.commit_transaction()
        producer.flush()
        return stats

    def _send(self, payload: bytes, stats: Stats) -> None:
        """Waits while too many are under way."""
        while True:
            try:
                self._producer.produce(self._args.topic, payload, on_delivery=stats.on_completion)
                break
            except BufferError:
                self._producer.poll(_QUEUE_FULL_WAIT_S)
        self._producer.poll(0)


def payloads_of(args: argparse.Namespace) -> Iterator[bytes]:
    """Endlessly the same letters, or lines of a file by chance; raises IllegalArgumentException for an empty file."""
    chance = random.Random(0)
    if args.payload_file is None:
        payload = bytes(65 + chance.randrange(26) for _ in range(args.record_size))
        return iter(lambda: payload, None)
    path = pathlib.Path(args.payload_file)
    print(f"Reading payloads from: {path.absolute()}")
    if not path.exists() or path.stat().st_size == 0:
        raise IllegalArgumentException("File does not exist or empty file provided.")
    delimiter = "\n" if args.payload_delimiter == "\\n" else args.payload_delimiter
    payloads = [text.encode() for text in path.read_text(encoding="utf-8").rstrip(delimiter).split(delimiter)]
    print(f"Number of messages read: {len(payloads)}")
    return iter(lambda: chance.choice(payloads), None)


def producer_properties(args: argparse.Namespace) -> dict[str, Any]:
    """Of the file, then of the command line; raises IllegalArgumentException for what is no name=value."""
    props: dict[str, Any] = dict(load_props(args.producer_config)) if args.producer_config else {}
    for prop in args.producer_props or ():
        pieces = prop.rstrip("=").split("=")
        if len(pieces) != 2:
            raise IllegalArgumentException(f"Invalid property: {prop}")
        props[pieces[0]] = pieces[1]
    if args.transaction_duration_ms > 0:
        props["transactional.id"] = args.transactional_id
    return props


def arg_parser() -> ToolArgumentParser:
    """The options, as in Kafka."""
    parser = ToolArgumentParser(prog="producer-performance", description="Measures how fast records can be produced.")
    add = parser.add_argument
    payload = parser.add_mutually_exclusive_group(required=True)
    add("--topic", required=True, help="produce messages to this topic")
    add("--num-records", required=True, type=int, help="how many")
    payload.add_argument("--record-size", type=int, help="bytes of each; this or --payload-file")
    payload.add_argument("--payload-file", help="a text file in UTF-8, of which each message is a line by chance")
    add("--payload-delimiter", default="\\n", help="what ends the lines of that file")
    add("--throughput", required=True, type=int, help="not more than about so many per second; -1 for no limit")
    add("--producer-props", nargs="+", metavar="PROP-NAME=PROP-VALUE", help="settings such as bootstrap.servers; these "
        "win over those of the file")  # fmt: skip
    add("--producer.config", dest="producer_config", metavar="CONFIG-FILE", help="file of producer properties")
    add("--print-metrics", action="store_true", help="print the client's metrics at the end")
    add("--transactional-id", default="performance-producer-default-transactional-id", help="with transactions")
    add("--transaction-duration-ms", type=int, default=0, help="if above 0: in transactions, committed after so long")
    return parser


def main(args: Sequence[str]) -> int:
    """0 when all records were acknowledged, 1 for options that make no sense or records that were not."""
    log_to_stderr()
    parser = arg_parser()
    options = parser.parse(args)
    if options.producer_props is None and options.producer_config is None:
        parser.error("Either --producer-props or --producer.config must be specified.")
    payloads = payloads_of(options)
    metrics = ClientMetrics()
    extra = metrics.settings() if options.print_metrics else {}
    producer = connected(Producer, {**producer_properties(options), **extra})
    stats = ProducerPerformance(producer, options).run(payloads)
    stats.print_total()
    if options.print_metrics:
        producer.poll(1)
        metrics.print_metrics()
    return int(stats.failures > 0)
