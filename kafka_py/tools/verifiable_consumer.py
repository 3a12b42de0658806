"""kafka-verifiable-consumer: a group member that says, in lines of JSON, all that happens to it.

Mirrors: tools/src/main/java/org/apache/kafka/tools/VerifiableConsumer.java @ 1.1.1; 2.5.1 for --bootstrap-server and
--group-instance-id
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import load_props
from kafka_py.tools.client_settings import connected
from kafka_py.tools.tools_utils import ToolArgumentParser, log_to_stderr
from kafka_py.tools.verifiable_producer import print_event, text_of
from kafka_py.utils.logging import Logging

_BROKERS = "HOST1:PORT1[,HOST2:PORT2[...]]"
_RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"
_POLL_S = 0.1
_MAX_POLL_RECORDS = 500  # as Java's max.poll.records


class VerifiableConsumer(Logging):
    """Reads, commits after each poll unless the client does so by itself, and reports.

    Mirrors: org.apache.kafka.tools.VerifiableConsumer
    Left out: main, argParser, addKafkaSerializerModule -- functions; partitions are written as they are
    Thread: main; librdkafka tells of rebalances on it, too, by ``poll`` and ``close``
    Differs: also when it ends it says that its partitions were revoked, as librdkafka tells it.
    """

    logger_name = "org.apache.kafka.tools.VerifiableConsumer"

    def __init__(
        self,
        consumer: Consumer,
        topic: str,
        max_messages: int = -1,
        *,
        use_auto_commit: bool = False,
        verbose: bool = False,
        out: TextIO | None = None,
        time: Time = Time.SYSTEM,
    ) -> None:
        """``max_messages``: a negative number for no limit; ``verbose``: each record is told."""
        self._consumer = consumer
        self._topic = topic
        self._max_messages = max_messages
        self._use_auto_commit = use_auto_commit
        self._verbose = verbose
        self._out = out or sys.stdout
        self._time = time
        self.consumed_messages = 0  # thread: main
        self._closing = False  # volatile: a signal handler of the same thread sets it

    @classmethod
    def create_from_args(cls, args: argparse.Namespace) -> VerifiableConsumer:
        """Connects; raises KafkaException for settings that make no sense, OSError without the file of settings."""
        props: dict[str, Any] = load_props(args.consumer_config) if args.consumer_config else {}
        props |= {
            "group.id": args.group_id,
            "bootstrap.servers": args.bootstrap_server or args.broker_list,
            "enable.auto.commit": args.enable_autocommit,
            "auto.offset.reset": args.reset_policy,
            "session.timeout.ms": args.session_timeout,
            "partition.assignment.strategy": args.assignment_strategy,
        }
        if args.group_instance_id is not None:
            props["group.instance.id"] = args.group_instance_id
        consumer = connected(Consumer, props)
        options = {"use_auto_commit": args.enable_autocommit, "verbose": args.verbose}
        return cls(consumer, args.topic, args.max_messages, **options)

    def _has_message_limit(self) -> bool:
        return self._max_messages >= 0

    def _is_finished(self) -> bool:
        return self._has_message_limit() and self.consumed_messages >= self._max_messages

    def _print_json(self, name: str, **event: Any) -> None:
        print_event(self._out, self._time, name, event)

    def run(self) -> None:
        """Until enough was read, ``close`` was called or something went wrong, which is logged."""
        try:
            self._print_json("startup_complete")
            self._consumer.subscribe(
                [self._topic],
                on_assign=lambda _, partitions: self.on_partitions_assigned(partitions),
                on_revoke=lambda _, partitions: self.on_partitions_revoked(partitions),
            )
            while not self._is_finished() and not self._closing:
                records = self._poll()
                if records:
                    offsets = self._on_records_received(records)
                    if not self._use_auto_commit:
                        self.commit_sync(offsets)
        except KafkaException as e:
            self.error("Error during processing, terminating consumer process: ", exc=e)
        finally:
            self._consumer.close()
            self._print_json("shutdown_complete")

    def _poll(self) -> list[Message]:
        """The records that are there; raises KafkaException for an error that nothing can mend."""
        first = self._consumer.poll(_POLL_S)
        if first is None:
            return []
        records = []
        for message in (first, *self._consumer.consume(_MAX_POLL_RECORDS - 1, 0)):
            error = message.error()
            if error is None:
                records.append(message)
            elif error.fatal():
                raise KafkaException(error)
            else:
                self.warn("%s", error.str())
        return records

    def _on_records_received(self, records: Sequence[Message]) -> list[TopicPartition]:
        """Report them by partition; the offsets to commit."""
        by_partition: dict[tuple[str, int], list[Message]] = {}
        for record in records:
            by_partition.setdefault((str(record.topic()), _int(record.partition())), []).append(record)
        summaries, offsets = [], []
        for (topic, partition), of_partition in by_partition.items():
            if self._has_message_limit():
                of_partition = of_partition[: self._max_messages - self.consumed_messages]
            if not of_partition:
                continue
            first, last = _int(of_partition[0].offset()), _int(of_partition[-1].offset())
            offsets.append(TopicPartition(topic, partition, last + 1))
            summaries.append(
                {"topic": topic, "partition": partition, "count": len(of_partition), "minOffset": first,
                 "maxOffset": last}
            )  # fmt: skip
            for record in of_partition if self._verbose else ():
                self._print_record(record)
            self.consumed_messages += len(of_partition)
        self._print_json("records_consumed", count=len(records), partitions=summaries)
        return offsets

    def _print_record(self, record: Message) -> None:
        what = {"key": text_of(record.key()), "value": text_of(record.value()), "topic": record.topic()}
        self._print_json("record_data", **what, partition=record.partition(), offset=record.offset())

    def commit_sync(self, offsets: list[TopicPartition]) -> None:
        """Commit and report; raises KafkaException when another has taken this member's instance id."""
        try:
            answered = self._consumer.commit(offsets=offsets, asynchronous=False)
            errors = [tp.error for tp in answered or () if tp.error is not None]
            self.on_complete(offsets, errors[0] if errors else None)
        except KafkaException as e:
            if e.args[0].code() == KafkaError.FENCED_INSTANCE_ID:
                raise
            self.on_complete(offsets, e.args[0])

    def on_complete(self, offsets: Iterable[TopicPartition], error: KafkaError | None) -> None:
        """Offsets were committed, or were not."""
        committed = [{"topic": tp.topic, "partition": tp.partition, "offset": tp.offset} for tp in offsets]
        failed = {} if error is None else {"error": error.str()}
        self._print_json("offsets_committed", offsets=committed, **failed, success=error is None)

    def on_partitions_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """A rebalance has ended."""
        self._print_json("partitions_assigned", partitions=_named(partitions))

    def on_partitions_revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """A rebalance has begun."""
        self._print_json("partitions_revoked", partitions=_named(partitions))

    def close(self) -> None:
        """Have ``run`` end."""
        self._closing = True


def _named(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]


def _int(value: int | None) -> int:
    assert value is not None, "a record that was read has a partition and an offset"
    return value


def arg_parser() -> ToolArgumentParser:
    """The options, as in Kafka."""
    parser = ToolArgumentParser(
        prog="verifiable-consumer",
        description="Consumes messages from a topic and prints JSON about all that happens: rebalances, received "
        "messages, committed offsets.",
    )
    add = parser.add_argument
    connection = parser.add_mutually_exclusive_group(required=True)
    connection.add_argument("--bootstrap-server", metavar=_BROKERS, help="REQUIRED: The brokers to start from.")
    connection.add_argument("--broker-list", metavar=_BROKERS, help="The same; the older name.")
    add("--topic", required=True, help="Consume messages from this topic.")
    add("--group-id", required=True, help="The group that this is a member of.")
    add("--group-instance-id", help="Its name in the group, which outlives it: a static member.")
    add("--max-messages", type=int, default=-1, help="So many messages. -1: until the process is ended.")
    add("--session-timeout", type=int, default=30000, metavar="TIMEOUT_MS", help="The session timeout.")
    add("--verbose", action="store_true", help="Tell of each record.")
    add("--enable-autocommit", action="store_true", help="Let the client commit by itself.")
    add("--reset-policy", default="earliest", help="Where to begin: 'earliest', 'latest' or 'none'.")
    add(
        "--assignment-strategy",
        default=_RANGE,
        help="A class of Kafka's, such as " + _RANGE.replace("Range", "RoundRobin"),
    )
    add("--consumer.config", dest="consumer_config", metavar="CONFIG_FILE", help="File of consumer properties; what "
        "options say wins.")  # fmt: skip
    return parser


def main(args: Sequence[str]) -> int:
    """0 when it has ended, for whatever reason; 1 for options that make no sense."""
    log_to_stderr()
    parser = arg_parser()
    options = parser.parse(args)
    try:
        consumer = VerifiableConsumer.create_from_args(options)
    except (KafkaException, OSError) as e:
        parser.error(str(e))
    signal.signal(signal.SIGTERM, lambda *_: consumer.close())
    signal.signal(signal.SIGINT, lambda *_: consumer.close())
    consumer.run()
    return 0
