"""kafka-verifiable-producer: sends growing numbers and says of each, as a line of JSON, whether it was acknowledged.

Mirrors: tools/src/main/java/org/apache/kafka/tools/VerifiableProducer.java @ 1.1.1; 2.5.1 for --bootstrap-server and
--repeating-keys
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_py.common.errors import TimeoutException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.utils.throwables import class_name
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import load_props
from kafka_py.tools.client_settings import connected
from kafka_py.tools.throughput_throttler import ThroughputThrottler
from kafka_py.tools.tools_utils import ToolArgumentParser, log_to_stderr
from kafka_py.utils.json import Json

_BROKERS = "HOST1:PORT1[,HOST2:PORT2[...]]"
_QUEUE_FULL_WAIT_S = 0.1
# As the Java producer of 1.1.1: what is not acknowledged by then has failed
_REQUEST_TIMEOUT_MS = 30_000


def print_event(out: TextIO, time: Time, name: str, event: Mapping[str, Any]) -> None:
    """A line of JSON, at once: timestamp, name, and what belongs to this kind of event."""
    print(Json.encode_as_string({"timestamp": time.milliseconds(), "name": name, **event}), file=out, flush=True)


class VerifiableProducer:
    """Sends, and reports what became of it.

    Mirrors: org.apache.kafka.tools.VerifiableProducer
    Left out: main, argParser, loadProps -- functions of this module, and the one in utils
    Thread: main; librdkafka's acknowledgements are told on it, too, by ``poll``
    """

    def __init__(
        self,
        producer: Producer,
        topic: str,
        value_prefix: int | None = None,
        create_time: int | None = None,
        repeating_keys: int | None = None,
        *,
        out: TextIO | None = None,
        time: Time = Time.SYSTEM,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._value_prefix = value_prefix
        self._repeating_keys = repeating_keys
        self._out = out or sys.stdout
        self._time = time
        self._create_time = create_time  # thread: main
        self._start_ms = time.milliseconds()
        self._key_counter = 0  # thread: main
        self.num_acked = 0  # thread: main
        self.num_sent = 0  # thread: main
        self.stop_producing = False  # volatile: a signal handler of the same thread sets it

    @classmethod
    def create_from_args(cls, args: argparse.Namespace) -> VerifiableProducer:
        """Connects; raises KafkaException for settings that make no sense, OSError without the file of settings."""
        props: dict[str, Any] = {
            "bootstrap.servers": args.bootstrap_server or args.broker_list,
            "acks": args.acks,
            "retries": 0,
            "message.timeout.ms": _REQUEST_TIMEOUT_MS,
        }
        props |= load_props(args.producer_config) if args.producer_config else {}
        created = None if args.message_create_time == -1 else args.message_create_time
        return cls(connected(Producer, props), args.topic, args.value_prefix, created, args.repeating_keys)

    def _print_json(self, name: str, **event: Any) -> None:
        print_event(self._out, self._time, name, event)

    def send(self, key: str | None, value: str) -> None:
        """Hand a record over; waits while too many are under way."""
        self.num_sent += 1
        created = self._create_time or 0  # which librdkafka takes for now
        if self._create_time is not None:
            self._create_time += self._time.milliseconds() - self._start_ms
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=self.on_completion, timestamp=created)
                break
            except BufferError:
                self._producer.poll(_QUEUE_FULL_WAIT_S)
            except KafkaException as e:
                self._print_failure(key, value, e.args[0])
                break
        self._producer.poll(0)

    def on_completion(self, error: KafkaError | None, message: Message) -> None:
        """A record was acknowledged, or was not."""
        key, value = text_of(message.key()), text_of(message.value())
        if error is not None:
            self._print_failure(key, value, error)
            return
        self.num_acked += 1
        where = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
        self._print_json("producer_send_success", key=key, value=value, **where)

    def _print_failure(self, key: str | None, value: str | None, error: KafkaError) -> None:
        what = {"topic": self._topic, "exception": f"class {exception_name(error)}", "message": error.str()}
        self._print_json("producer_send_error", key=key, value=value, **what)

    def get_value(self, val: int) -> str:
        """The number, behind the prefix if there is one."""
        return str(val) if self._value_prefix is None else f"{self._value_prefix}.{val}"

    def get_key(self) -> str | None:
        """0, 1, … and from the number asked for on 0 again; None unless there is to be a key."""
        if self._repeating_keys is None:
            return None
        key = str(self._key_counter)
        self._key_counter = (self._key_counter + 1) % max(self._repeating_keys, 1)
        return key

    def run(self, throttler: ThroughputThrottler, max_messages: int = -1) -> None:
        """Send so many, a negative number: until told to stop."""
        self._print_json("startup_complete")
        i = 0
        while (max_messages < 0 or i < max_messages) and not self.stop_producing:
            send_start_ms = self._time.milliseconds()
            self.send(self.get_key(), self.get_value(i))
            if throttler.should_throttle(i, send_start_ms):
                self._producer.poll(0)
                throttler.throttle()
            i += 1

    def close(self, target_throughput: int) -> None:
        """Wait for what is under way, and sum up."""
        self._producer.flush()
        self._print_json("shutdown_complete")
        seconds = (self._time.milliseconds() - self._start_ms) / 1000
        self._print_json(
            "tool_data",
            sent=self.num_sent,
            acked=self.num_acked,
            target_throughput=target_throughput,
            avg_throughput=self.num_acked / seconds if seconds else 0.0,
        )


def exception_name(error: KafkaError) -> str:
    """Of the class that the Java client would raise."""
    answered = Errors.for_code(error.code()).exception() if error.code() > 0 else None
    if answered is not None:
        return class_name(answered)
    timed_out = error.code() in (KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT)
    return class_name(TimeoutException()) if timed_out else "org.apache.kafka.common.KafkaException"


def text_of(data: Any) -> str | None:
    """A key or a value as text."""
    return None if data is None else bytes(data).decode(errors="replace")


def arg_parser() -> ToolArgumentParser:
    """The options, as in Kafka."""
    parser = ToolArgumentParser(
        prog="verifiable-producer",
        description="Produces growing numbers to a topic and prints JSON about each 'send': which messages have been "
        "acknowledged, and which have not.",
    )
    add = parser.add_argument
    add("--topic", required=True, help="Produce messages to this topic.")
    connection = parser.add_mutually_exclusive_group(required=True)
    connection.add_argument("--bootstrap-server", metavar=_BROKERS, help="REQUIRED: The brokers to start from.")
    connection.add_argument("--broker-list", metavar=_BROKERS, help="The same; the older name.")
    add("--max-messages", type=int, default=-1, help="So many messages. -1: until the process is ended.")
    add("--throughput", type=int, default=-1, help="If >= 0, not more than about so many messages per second.")
    add("--acks", type=int, default=-1, choices=(0, 1, -1), help="The acknowledgements that each message needs.")
    add("--producer.config", dest="producer_config", metavar="CONFIG_FILE", help="File of producer properties.")
    add("--message-create-time", type=int, default=-1, metavar="CREATETIME", help="Timestamps begin here, ms.")
    add("--value-prefix", type=int, help="Each value is a dot and the number behind this one.")
    add("--repeating-keys", type=int, help="Keys 0, 1, … up to below this number, and again.")
    return parser


def main(args: Sequence[str]) -> int:
    """0 when all messages were sent, whatever became of them; 1 for options that make no sense."""
    log_to_stderr()
    parser = arg_parser()
    options = parser.parse(args)
    try:
        producer = VerifiableProducer.create_from_args(options)
    except (KafkaException, OSError) as e:
        parser.error(str(e))
    throttler = ThroughputThrottler(options.throughput, Time.SYSTEM.milliseconds())

    def stop(*_: object) -> None:
        producer.stop_producing = True
        throttler.wakeup()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    producer.run(throttler, options.max_messages)
    producer.close(options.throughput)
    return 0
