"""kafka-consumer-perf-test: reads records as fast as can be, and tells how fast that was.

Mirrors: core/src/main/scala/kafka/tools/ConsumerPerformance.scala @ 1.1.1; 2.5.1 for --bootstrap-server, --timeout and
where reading begins
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import load_props
from kafka_py.tools.client_settings import connected
from kafka_py.tools.perf_config import PerfConfig, SimpleDateFormat, four_digits, ratio
from kafka_py.tools.tools_utils import ClientMetrics, log_to_stderr
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionSet

_MB = 1024 * 1024
_POLL_S = 0.1
_BATCH = 1000
# Of the old consumer; Kafka's own tool takes them with the new one, too, and does nothing.
_WITHOUT_EFFECT = ("threads", "num-fetch-threads")


class ConsumerPerfConfig(PerfConfig):
    """The command line, checked.

    Mirrors: kafka.tools.ConsumerPerformance.ConsumerPerfConfig
    """

    def __init__(self, args: Sequence[str]) -> None:
        super().__init__()
        self._declare_options()
        self.options: OptionSet = CommandLineUtils.parse(self.parser, list(args))
        has, value = self.options.has, self.options.value_of
        if has("zookeeper"):
            CommandLineUtils.print_usage_and_die(
                self.parser, "The consumer over ZooKeeper is not supported: use --bootstrap-server."
            )
        CommandLineUtils.check_required_args(self.parser, self.options, self._topic_opt, self.num_messages_opt)
        if not has("bootstrap-server"):
            CommandLineUtils.check_required_args(self.parser, self.options, self._broker_list_opt)
        if has("new-consumer"):
            print(
                "The --new-consumer option is deprecated and will be removed in a future major release."
                "The new consumer is used by default if the --bootstrap-server option is provided.",
                file=sys.stderr,
            )
        self.topic: str = value("topic")
        self.num_messages: int = value("messages")
        self.reporting_interval: int = value("reporting-interval")
        if self.reporting_interval <= 0:
            raise IllegalArgumentException("Reporting interval must be greater than 0.")
        self.show_detailed_stats = has("show-detailed-stats")
        self.date_format = SimpleDateFormat(value("date-format"))
        self.hide_header = has("hide-header")
        self.print_metrics = has("print-metrics")
        self.record_fetch_timeout_ms: int = value("timeout")
        self.props = self._consumer_props()

    def _declare_options(self) -> None:
        accepts = self.parser.accepts
        accepts("zookeeper", "Not supported (old consumer).").with_required_arg().described_as("urls")
        accepts("bootstrap-server", "REQUIRED: The brokers to start from.").with_required_arg().described_as("host")
        self._broker_list_opt = accepts("broker-list", "The same; the older name.").with_required_arg()
        self._topic_opt = accepts("topic", "REQUIRED: The topic to read.").with_required_arg().described_as("topic")
        group = f"perf-consumer-{random.randrange(100_000)}"
        accepts("group", "The consumer group.").with_required_arg().described_as("gid").defaults_to(group)
        for name, text, default in (
            ("fetch-size", "Bytes of a partition in one answer.", _MB),
            ("socket-buffer-size", "Size of the TCP receive buffer.", 2 * _MB),
            ("threads", "Without effect (old consumer).", 10),
            ("num-fetch-threads", "Without effect (old consumer).", 1),
        ):
            accepts(name, text).with_required_arg().of_type(int).defaults_to(default)
        accepts("from-latest", "Where the group has no offset yet, begin with the next record, not with the oldest.")
        accepts("new-consumer", "Deprecated: there is no other.")
        accepts("consumer.config", "File of consumer properties.").with_required_arg().described_as("config file")
        accepts("print-metrics", "Print the client's metrics at the end.")
        accepts("show-detailed-stats", "Print a line after each reporting-interval.")
        timeout = accepts("timeout", "End when nothing came for so many ms.").with_optional_arg()
        timeout.described_as("milliseconds").of_type(int, "Long").defaults_to(10_000)

    def _consumer_props(self) -> dict[str, Any]:
        has, value = self.options.has, self.options.value_of
        return {
            **(load_props(value("consumer.config")) if has("consumer.config") else {}),
            "bootstrap.servers": value("bootstrap-server") or value("broker-list"),
            "group.id": value("group"),
            "receive.buffer.bytes": value("socket-buffer-size"),
            "max.partition.fetch.bytes": value("fetch-size"),
            "auto.offset.reset": "latest" if has("from-latest") else "earliest",
            "check.crcs": False,
        }


class Progress(NamedTuple):
    """What has been read until some moment."""

    messages: int = 0
    bytes: int = 0
    ms: int = 0


class ConsumerPerformance:
    """One run.

    Mirrors: kafka.tools.ConsumerPerformance
    Left out: main, printHeader, printNewConsumerProgress, printBasicProgress, printExtendedProgress,
        printOldConsumerProgress -- functions of this module; there is no old consumer
    Thread: main; librdkafka tells of rebalances on it, too, by ``consume``
    Differs: reads from where the group is, as 2.5.1; 1.1.1 began at the start of the log whatever the options said.
        Also the time until the first assignment counts as time of a rebalance.
    """

    def __init__(self, consumer: Consumer, config: ConsumerPerfConfig, time: Time = Time.SYSTEM) -> None:
        self._consumer = consumer
        self._config = config
        self._time = time
        self._join_start = 0  # thread: main
        self.join_time_ms = 0  # thread: main
        self._join_time_in_single_round = 0  # thread: main

    def _on_assign(self, *_: object) -> None:
        took = self._time.milliseconds() - self._join_start
        self.join_time_ms += took
        self._join_time_in_single_round += took

    def _on_revoke(self, *_: object) -> None:
        self._join_start = self._time.milliseconds()

    def run(self) -> None:
        """Read, and print what came of it."""
        config = self._config
        if not config.hide_header:
            print_header(config.show_detailed_stats)
        start_ms = self._time.milliseconds()
        read = self.consume()
        if not config.show_detailed_stats:
            self._print_total(start_ms, read)

    def consume(self) -> Progress:
        """Read so many records, or until nothing has come for too long; how many there were."""
        config = self._config
        now = self._join_start = self._time.milliseconds()
        self._consumer.subscribe([config.topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
        last_consumed, last = now, Progress(ms=now)
        messages = length = 0
        while messages < config.num_messages and now - last_consumed <= config.record_fetch_timeout_ms:
            records = self._consumer.consume(min(_BATCH, config.num_messages - messages), _POLL_S)
            now = self._time.milliseconds()
            for record in records:
                error = record.error()
                if error is not None:
                    if error.fatal():
                        raise KafkaException(error)
                    continue
                messages += 1
                length += len(record.key() or b"") + len(record.value() or b"")
                last_consumed = now
            if now - last.ms >= config.reporting_interval and messages > last.messages:
                last = self._report(last, Progress(messages, length, now))
        if messages < config.num_messages:
            print(
                "WARNING: Exiting before consuming the expected number of messages: timeout "
                f"({config.record_fetch_timeout_ms} ms) exceeded. You can use the --timeout option to increase the "
                "timeout."
            )
        return Progress(messages, length, self._time.milliseconds())

    def _report(self, last: Progress, now: Progress) -> Progress:
        config = self._config
        if config.show_detailed_stats:
            print_consumer_progress(0, last, now, config.date_format, self._join_time_in_single_round)
        self._join_time_in_single_round = 0
        return now

    def _print_total(self, start_ms: int, read: Progress) -> None:
        date_format, mb = self._config.date_format, read.bytes / _MB
        elapsed, fetch = read.ms - start_ms, read.ms - start_ms - self.join_time_ms
        print(
            f"{date_format.format(start_ms)}, {date_format.format(read.ms)}, {four_digits(mb)}, "
            f"{four_digits(ratio(mb, elapsed / 1000))}, {read.messages}, "
            f"{four_digits(ratio(read.messages, elapsed / 1000))}, {self.join_time_ms}, {fetch}, "
            f"{four_digits(ratio(mb, fetch / 1000))}, {four_digits(ratio(read.messages, fetch / 1000))}"
        )


def print_header(show_detailed_stats: bool) -> None:
    """What the columns are."""
    first = "time, threadId" if show_detailed_stats else "start.time, end.time"
    print(
        f"{first}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, "
        "fetch.MB.sec, fetch.nMsg.sec"
    )


def print_consumer_progress(
    id: int, last: Progress, now: Progress, date_format: SimpleDateFormat, periodic_join_time_ms: int
) -> None:
    """A line on what has been read altogether, and how fast since the last line."""
    elapsed = now.ms - last.ms
    mb, messages = (now.bytes - last.bytes) / _MB, now.messages - last.messages
    rates = f"{four_digits(ratio(1000 * mb, elapsed))}, {now.messages}, {four_digits(ratio(1000 * messages, elapsed))}"
    fetch_time = elapsed - periodic_join_time_ms
    fetch_rates = (1000 * mb / fetch_time, 1000 * messages / fetch_time) if fetch_time > 0 else (0.0, 0.0)
    print(
        f"{date_format.format(now.ms)}, {id}, {four_digits(now.bytes / _MB)}, {rates}, {periodic_join_time_ms}, "
        f"{fetch_time}, {four_digits(fetch_rates[0])}, {four_digits(fetch_rates[1])}",
        flush=True,
    )


def main(args: Sequence[str]) -> int:
    """0 at the end, however much was read; 1 for options that make no sense."""
    log_to_stderr()
    config = ConsumerPerfConfig(args)
    for name in _WITHOUT_EFFECT:
        if config.options.has(name):
            print(f"Option {name} has no effect here and is ignored.", file=sys.stderr)
    metrics = ClientMetrics()
    extra = metrics.settings() if config.print_metrics else {}
    consumer = connected(Consumer, {**config.props, **extra})
    try:
        ConsumerPerformance(consumer, config).run()
        if config.print_metrics:
            consumer.poll(1)
            metrics.print_metrics()
    finally:
        consumer.close()
    return 0
