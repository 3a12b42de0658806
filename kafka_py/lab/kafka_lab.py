"""One command, one broker: starts ZooKeeper and brokers, sends a file through them and tells what happened.

Ours, no original. Everything is real: the embedded ZooKeeper and each broker are processes of their own, the client is
confluent-kafka (librdkafka), and the story of the request comes from the broker's own journal.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import signal
import sys
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.common.utils.time import Time
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, Form, how_to_compile
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.installation import HERE
from kafka_py.xray.request_journal import STAMPS

TOPIC = "lab"
DEFAULT_PORT = 9092
_TIMEOUT_S = 30
_STATIONS = {
    "start": "read from the socket by the network thread",
    "requestDequeue": "taken from the request queue by the handler",
    "apiLocalComplete": "KafkaApis done: the batch is in the log",
    "responseComplete": "response ready: all replicas in sync have the batch",
    "responseDequeue": "response taken by the network thread",
    "end": "last byte handed to the socket",
}


_FORM = re.compile(r"INFO Request path: (.*) \(kafka\.Kafka\$\)")


def default_file() -> pathlib.Path:
    """What is sent when nobody names a file: the README of a clone, this very source where there is none."""
    return HERE.root / "README.md" if HERE.is_clone else pathlib.Path(__file__)


def parse(args: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kafka-lab.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", nargs="?", default=str(default_file()), help="its lines are produced")
    parser.add_argument("--brokers", type=int, default=1, help="how many brokers (default 1)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="of the first broker; 0 = any free port")
    parser.add_argument("--zookeeper", default="embedded", help="embedded, real, or the address of one that runs")
    parser.add_argument("--topic", default=TOPIC)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--once", action="store_true", help="end after the round trip instead of staying up")
    return parser.parse_args(args)


class KafkaLab:
    """The lab session: start, round trip, story, stay up."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._time = Time.SYSTEM
        self._stop = CountDownLatch(1)

    def run(self) -> int:
        """0 when every line came back as it was sent, 1 otherwise."""
        options = self._options
        signal.signal(signal.SIGTERM, lambda *_: self._stop.count_down())
        lines = pathlib.Path(options.file).read_bytes().splitlines()
        began = self._time.milliseconds()
        say(f"Starting ZooKeeper ({options.zookeeper}) and {options.brokers} broker(s) ...")
        replicas = str(replication_factor(options.brokers))
        properties = {
            "kafka.py.xray": "on",
            "num.partitions": str(options.partitions),
            "default.replication.factor": replicas,
            "offsets.topic.replication.factor": replicas,
        }
        with LocalCluster(
            options.brokers, port=options.port, zookeeper=options.zookeeper, properties=properties
        ) as cluster:
            took = (self._time.milliseconds() - began) / 1000
            say(f"ZooKeeper at {cluster.zookeeper_connect}, brokers at {cluster.bootstrap_servers} ({took:.1f} s).")
            for broker in cluster.brokers:
                say(f"  broker {broker.id}: pid {broker.process.pid}, log.dirs {broker.properties['log.dirs']},")
                say(f"            log {broker.process.output}, metrics http://127.0.0.1:{broker.metrics_port}/metrics")
            say(form_line(cluster.brokers[0].process.text()))
            good = self._round_trip(cluster, lines)
            if not options.once:
                self._stay_up(cluster)
        return 0 if good else 1

    def _round_trip(self, cluster: LocalCluster, lines: list[bytes]) -> bool:
        options, servers = self._options, cluster.bootstrap_servers
        create_topic(servers, options.topic, options.partitions, replication_factor(options.brokers))
        sent = produce(servers, options.topic, lines)
        say(f"\nProduced {len(lines)} lines of {options.file} to topic '{options.topic}' (acks=all):")
        for partition, records in sorted(sent.items()):
            say(f"  partition {partition}: offsets {records[0][0]} to {records[-1][0]}")
        received = consume(servers, options.topic, sent)
        good = received == sent and sum(map(len, received.values())) == len(lines)
        say(f"Consumed {sum(map(len, received.values()))} records: " + ("all equal." if good else "THEY DIFFER."))
        for broker in cluster.brokers:
            tell_the_story(broker)
        return good

    def _stay_up(self, cluster: LocalCluster) -> None:
        servers = cluster.bootstrap_servers
        who = "The broker stays" if len(cluster.brokers) == 1 else "The brokers stay"
        say(f"\n{who} up until Ctrl-C. In another terminal:")
        say(f"  {HERE.name_of('kafka-console-producer')} --broker-list {servers} --topic {self._options.topic}")
        reading = f"--bootstrap-server {servers} --topic {self._options.topic} --from-beginning"
        say(f"  {HERE.name_of('kafka-console-consumer')} {reading}")
        say(f"  {HERE.name_of('kafka-topics')} --zookeeper {cluster.zookeeper_connect} --describe")
        say(f"  kcat -b {servers} -L")
        up = list(cluster.brokers)
        try:
            while up and not self._stop.await_(500):
                up = self._without_ended(up, cluster)
        except KeyboardInterrupt:
            say("\nStopping ...")

    def _without_ended(self, up: list[LocalBroker], cluster: LocalCluster) -> list[LocalBroker]:
        """Those of the brokers that still run; says which do not. The others stay up: killing one is an experiment."""
        left = [broker for broker in up if broker.process.is_running]
        for broker in up:
            if broker in left:
                continue
            process = broker.process
            say(f"\nBroker {broker.id} has ended ({process.how_it_ended}); its last words are in {process.output}")
            if left:
                others = f"Broker{'s' if len(left) > 1 else ''} {', '.join(str(other.id) for other in left)}"
                say(f"  {others} and ZooKeeper stay up. Who leads now, and to start it again:")
                say(f"  {HERE.name_of('kafka-topics')} --zookeeper {cluster.zookeeper_connect} --describe")
                say(f"  {HERE.name_of('kafka-server-start')} {broker.home / 'server.properties'}")
            else:
                say("  No broker is left: stopping.")
        return left


def form_line(output: str) -> str:
    """Which form of the request path a broker runs, by what it printed, and how to get the other."""
    told = _FORM.search(output)
    form = told[1] if told is not None else "unknown"
    if form == Form.SWITCHED_OFF.value:
        other = f"without {ENVIRONMENT_VARIABLE}=0 compiled modules are used where there are some"
    elif form.startswith("interpreted"):
        other = f"for about twice the requests per second {how_to_compile()}"
    else:
        other = f"{ENVIRONMENT_VARIABLE}=0 runs the sources"
    return f"Request path: {form}; {other}."


def say(text: str) -> None:
    print(text, flush=True)


def replication_factor(brokers: int) -> int:
    """Of the lab's topics: as many as can be and one usually has."""
    return min(3, brokers)


def create_topic(servers: str, topic: str, partitions: int, replicas: int) -> None:
    """Create the topic; one that is there already will do."""
    admin = AdminClient({"bootstrap.servers": servers, "client.id": "kafka-lab"})
    try:
        admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(_TIMEOUT_S)
    except KafkaException as e:
        if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


Sent = dict[int, list[tuple[int, bytes | None]]]


def produce(servers: str, topic: str, lines: Sequence[bytes]) -> Sent:
    """Send the lines, wait for every acknowledgement; partition -> (offset, line). Raises for one that fails."""
    sent: Sent = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        sent.setdefault(_int(message.partition()), []).append((_int(message.offset()), message.value()))

    producer = Producer({"bootstrap.servers": servers, "client.id": "kafka-lab", "acks": "all", "linger.ms": 5})
    for i, line in enumerate(lines):
        producer.produce(topic, line, b"%d" % i, on_delivery=delivered)
        producer.poll(0)
    if producer.flush(_TIMEOUT_S):
        raise TimeoutError("Some records were not acknowledged")
    return {partition: sorted(records) for partition, records in sent.items()}


def consume(servers: str, topic: str, sent: Sent) -> Sent:
    """Read the same ranges of offsets back."""
    # Nothing is committed: without a group coordinator, closing would wait for one.
    consumer = Consumer(
        {"bootstrap.servers": servers, "client.id": "kafka-lab", "group.id": "kafka-lab", "enable.auto.commit": False}
    )
    received: Sent = {}
    left = sum(map(len, sent.values()))
    try:
        consumer.assign([TopicPartition(topic, partition, records[0][0]) for partition, records in sent.items()])
        while left:
            messages = consumer.consume(min(left, 1000), timeout=_TIMEOUT_S)
            if not messages:
                break
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                received.setdefault(_int(message.partition()), []).append((_int(message.offset()), message.value()))
            left -= len(messages)
    finally:
        consumer.close()
    return received


def _int(value: int | None) -> int:
    assert value is not None, "a delivered message has a partition and an offset"
    return value


def journal(broker: LocalBroker, **wanted: str) -> list[Mapping[str, Any]]:
    """The broker's finished requests with these properties."""
    url = f"http://127.0.0.1:{broker.metrics_port}/xray/requests?{urllib.parse.urlencode(wanted)}"
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
        found: list[Mapping[str, Any]] = json.load(answer)["requests"]
        return found


def tell_the_story(broker: LocalBroker) -> None:
    """Print the way of one Produce request through the broker's threads, and who did how much."""
    requests = journal(broker, clientId="kafka-lab")
    produced = [r for r in requests if r["api"] in ("PRODUCE", "Produce")]
    if not produced:
        say(f"\nBroker {broker.id} had no Produce request: it leads none of the partitions.")
        return
    one = produced[-1]
    stamps = one["stampsMicros"]
    say(f"\nOne {one['api']} v{one['version']} request on broker {broker.id}, connection {one['connection']}:")
    say(f"  network thread  {one['networkThread']}")
    say(f"  handler thread  {one['handlerThread']}")
    before = 0.0
    for name in STAMPS:
        at = stamps[name]
        say(f"  {at:>10.1f} us  (+{at - before:>8.1f})  {name:<17} {_STATIONS[name]}")
        before = at
    say(f"Requests of this client on broker {broker.id}, by thread:")
    for kind in ("networkThread", "handlerThread"):
        counts: dict[str, int] = {}
        for request in requests:
            counts[str(request[kind])] = counts.get(str(request[kind]), 0) + 1
        for name, count in sorted(counts.items()):
            say(f"  {count:>5}  {name}")


def main(args: list[str]) -> int:
    """0 after a round trip in which every line came back; 1 with the reason otherwise."""
    try:
        return KafkaLab(parse(args)).run()
    except KeyboardInterrupt:
        return 130
    except (OSError, RuntimeError, KafkaException) as e:
        print(f"kafka-lab: {e}", file=sys.stderr)
        return 1
