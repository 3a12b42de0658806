"""A cluster whose brokers are of both kinds, and what has to hold in it whatever happens to its members."""

from __future__ import annotations

import json
import pathlib
import signal
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from kazoo.client import KazooClient

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.support import wait_until
from tests.interop.apache_kafka import ApacheBroker, ApacheKafka
from tests.interop.awaiting import wait_until_gone, watermarks

OURS, APACHE = "ours", "apache"
# Deaths are noticed, and ISRs shrink, within some seconds; topics of the tests are replicated by all three.
PROPERTIES = {
    "inter.broker.protocol.version": "1.1-IV0",
    "log.message.format.version": "1.1-IV0",
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "100",
    "controlled.shutdown.retry.backoff.ms": "300",
    "auto.leader.rebalance.enable": "false",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "4000000",
    "log.segment.delete.delay.ms": "500",
    "auto.create.topics.enable": "false",
}
PATIENCE_S = 60.0
Acked = dict[int, dict[int, bytes]]  # partition -> offset -> value


class MixedCluster:
    """Brokers 0, 1, … of the given kinds. The first one to start becomes the controller."""

    def __init__(
        self,
        apache: ApacheKafka,
        home: pathlib.Path,
        kinds: Sequence[str],
        *,
        zookeeper: str = "embedded",
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.apache = apache
        self._home = home
        self._local = LocalCluster(
            len(kinds), home=home, zookeeper=zookeeper, properties={**PROPERTIES, **(properties or {})}
        )
        self._local.brokers = [
            apache.broker(broker) if kind == APACHE else broker
            for kind, broker in zip(kinds, self._local.brokers, strict=True)
        ]

    def __enter__(self) -> MixedCluster:
        self._start_one_after_the_other()
        self._zookeeper = KazooClient(self.zookeeper)
        self._zookeeper.start()
        return self

    def _start_one_after_the_other(self) -> None:
        local = self._local
        try:
            local.start_zookeeper()
            for broker in local.brokers:
                broker.properties["zookeeper.connect"] = local.zookeeper_connect
                broker.start()
        except BaseException:
            local.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zookeeper.stop()
        self._zookeeper.close()
        self._local.close()

    @property
    def brokers(self) -> list[LocalBroker]:
        return self._local.brokers

    @property
    def zookeeper(self) -> str:
        return self._local.zookeeper_connect

    @property
    def bootstrap(self) -> str:
        return self._local.bootstrap_servers

    # -- members ----------------------------------------------------------------------------------------------------

    def kill(self, id: int) -> None:
        """kill -9, and wait until ZooKeeper has forgotten it."""
        self.brokers[id].process.kill()
        wait_until_gone(self.zookeeper, id)

    def stop(self, id: int) -> None:
        """A controlled shutdown; a JVM ends with the signal it was sent."""
        assert self.brokers[id].process.stop() in (0, 128 + signal.SIGTERM)
        wait_until_gone(self.zookeeper, id)

    def start(self, id: int) -> None:
        self.brokers[id].start()

    def replace(self, id: int, kind: str) -> None:
        """Stop a broker, and start one of the other kind with its id, its port and its files."""
        self.stop(id)
        old = self.brokers[id]
        if kind == APACHE:
            self.brokers[id] = self.apache.broker(old)
        else:
            self.brokers[id] = LocalBroker(id, old.home, {**old.properties, "kafka.py.http.listener": "127.0.0.1:0"})
        self.start(id)

    def errors(self) -> list[str]:
        """What our brokers have logged as errors."""
        return [
            f"{broker.id}: {line}"
            for broker in self.brokers
            if not isinstance(broker, ApacheBroker)
            for line in broker.process.text().splitlines()
            if "] ERROR " in line or "] FATAL " in line
        ]

    # -- what ZooKeeper says ----------------------------------------------------------------------------------------

    def json_at(self, path: str) -> Any:
        """The JSON of a node; None where there is none."""
        return json.loads(self._zookeeper.get(path)[0]) if self._zookeeper.exists(path) else None

    def children_of(self, path: str) -> list[str]:
        found: list[str] = self._zookeeper.get_children(path)
        return found

    def controller(self) -> int:
        """The id of the controller, as soon as there is one."""
        return int(wait_until(lambda: self.json_at("/controller"), PATIENCE_S, "a controller")["brokerid"])

    def state(self, topic: str, partition: int) -> dict[str, Any]:
        found: dict[str, Any] = self.json_at(f"/brokers/topics/{topic}/partitions/{partition}/state") or {}
        return found

    def leader(self, topic: str, partition: int) -> int:
        return int(self.state(topic, partition).get("leader", -1))

    def replicas(self, topic: str) -> dict[int, list[int]]:
        """Partition -> its replicas, the preferred one first."""
        partitions = self.json_at(f"/brokers/topics/{topic}")["partitions"]
        return {int(partition): replicas for partition, replicas in partitions.items()}

    def wait_for_isr(self, topic: str, *without: int) -> None:
        """Wait until each partition's ISR is all its replicas but those, and one of them leads."""
        for partition, replicas in self.replicas(topic).items():
            wanted = set(replicas) - set(without)

            def settled(partition: int = partition, wanted: set[int] = wanted) -> bool:
                state = self.state(topic, partition)
                return set(state.get("isr", ())) == wanted and state["leader"] in wanted

            wait_until(settled, PATIENCE_S, f"the ISR {wanted} of {topic}-{partition}: {self.state(topic, partition)}")

    # -- topics -----------------------------------------------------------------------------------------------------

    def create(self, topic: str, assignment: Sequence[Sequence[int]], **config: str) -> None:
        """By Apache's own tool; waits until every replica is in sync."""
        text = ",".join(":".join(map(str, replicas)) for replicas in assignment)
        configs = [x for key, value in config.items() for x in ("--config", f"{key.replace('_', '.')}={value}")]
        self.apache.topics(self.zookeeper, "--create", "--topic", topic, "--replica-assignment", text, *configs)
        wait_until(lambda: all(self.state(topic, p) for p in range(len(assignment))), PATIENCE_S, f"leaders of {topic}")
        self.wait_for_isr(topic)

    def reassign(self, topic: str, assignment: Mapping[int, Sequence[int]], throttle: int) -> pathlib.Path:
        """Begin to move partitions with Apache's tool, at so many bytes per second; the file for `is_reassigned`."""
        path = self._home / "reassignment.json"
        moves = [{"topic": topic, "partition": p, "replicas": list(r)} for p, r in assignment.items()]
        path.write_text(json.dumps({"version": 1, "partitions": moves}))
        self._reassign(path, "--execute", "--throttle", str(throttle))
        return path

    def is_reassigned(self, path: pathlib.Path) -> bool:
        """Whether Apache's tool calls the move complete; it takes the throttles away then."""
        return "in progress" not in self._reassign(path, "--verify")

    def _reassign(self, path: pathlib.Path, *action: str) -> str:
        main = "kafka.admin.ReassignPartitionsCommand"
        return self.apache.output_of(
            main, "--zookeeper", self.zookeeper, "--reassignment-json-file", str(path), *action
        )

    # -- records ----------------------------------------------------------------------------------------------------

    def read(self, topic: str) -> Acked:
        """Everything in the topic, up to its high watermarks."""
        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
        )
        found: Acked = {}
        try:
            for partition in self.replicas(topic):
                rows = found.setdefault(partition, {})
                start, end = watermarks(consumer, topic, partition)
                consumer.assign([TopicPartition(topic, partition, start)])
                last = start - 1
                while last < end - 1:
                    messages = consumer.consume(500, timeout=0.2)
                    for message in messages:
                        assert message.error() is None, message.error()
                        offset, value = message.offset(), message.value()
                        assert offset is not None
                        assert value is not None
                        rows[offset] = value
                        last = offset
        finally:
            consumer.close()
        return found

    def check(self, topic: str, acked: Acked, *, once: bool = True) -> None:
        """Every acknowledged record is read where it was acknowledged; and no record twice, from an idempotent one."""
        found = self.read(topic)
        for partition, rows in acked.items():
            lost = {offset: value for offset, value in rows.items() if found[partition].get(offset) != value}
            assert not lost, f"{topic}-{partition} lost {len(lost)} of {len(rows)}, first {min(lost.items())}"
            values = list(found[partition].values())
            assert not once or len(values) == len(set(values)), f"{topic}-{partition} has a record twice"

    def wait_until_equal(self, topic: str) -> None:
        """Wait until all replicas have the same bytes in the same segments."""
        for partition, replicas in self.replicas(topic).items():
            directories = [self.brokers[id].log_dirs[0] / f"{topic}-{partition}" for id in replicas]

            def equal(directories: Sequence[pathlib.Path] = directories) -> bool:
                first, *others = [_segments(directory) for directory in directories]
                return all(other == first for other in others)

            wait_until(equal, PATIENCE_S, f"equal replicas of {topic}-{partition} on {replicas}")


def _segments(directory: pathlib.Path) -> dict[str, bytes]:
    """The segments of a partition by name. A follower's new segment is there before its first bytes."""
    found = {path.name: path.read_bytes() for path in directory.glob("*.log")}
    return {name: content for name, content in found.items() if content}


class Writer:
    """A context manager: writes numbered records until its end, and knows which ones were acknowledged where."""

    def __init__(self, cluster: MixedCluster, topic: str, **config: Any) -> None:
        self.acked: Acked = {}  # complete, and safe to look at, when the writer has ended
        self.count = 0  # of them so far
        self._topic = topic
        self._errors: list[KafkaError] = []
        self._stop = threading.Event()
        self._partitions = sorted(cluster.replicas(topic))
        settings = {"acks": "all", "enable_idempotence": True, "linger_ms": 2, "message_timeout_ms": 120_000, **config}
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, **{k.replace("_", "."): v for k, v in settings.items()}}
        )
        self._thread = threading.Thread(target=self._run, name=f"writer of {topic}", daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        self.wait_for_more()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        left = self._producer.flush(120)
        if kind is None:
            assert not left, f"{left} records were neither acknowledged nor refused"
            assert not self._errors, self._errors[:3]

    def wait_for_more(self, count: int = 100) -> None:
        """Wait until so many more records are acknowledged."""
        wanted = self.count + count
        wait_until(lambda: self.count >= wanted, PATIENCE_S, f"{count} more acknowledged records of {self._topic}")

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(0.005):
            for _ in range(10):
                number += 1
                partition = self._partitions[number % len(self._partitions)]
                value = b"%s %d " % (self._topic.encode(), number) + b"x" * (number % 200)
                self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)
            while len(self._producer) > 2000 and not self._stop.is_set():
                self._producer.poll(0.05)
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._errors.append(error)
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        self.acked.setdefault(partition, {})[offset] = value
        self.count += 1


def write(cluster: MixedCluster, topic: str, count: int = 300, **config: Any) -> Acked:
    """Write at least so many records and wait for their acknowledgements."""
    with Writer(cluster, topic, **config) as writer:
        writer.wait_for_more(count)
    return writer.acked


def merged(*parts: Acked) -> Acked:
    """The acknowledged records of several writers of one topic."""
    whole: Acked = {}
    for part in parts:
        for partition, rows in part.items():
            whole.setdefault(partition, {}).update(rows)
    return whole
