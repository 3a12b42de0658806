"""How long records are not accepted when a broker dies, hangs, is cut off or stops, for few and for many partitions.

    python -m benchmarks.failover                                    # 1 and 1,000 partitions, each fault once
    python -m benchmarks.failover --partitions 1,100 --faults kill,stop -n 3

Three brokers, three replicas, min.insync.replicas=2, acks=all. From the moment of the fault a client asks the other
brokers who leads, and sends one record to each partition that the broker led, until each has taken one; its patience
with a broker that does not answer is one second. Printed is how long that took, and, for what ends a session, by how
much it is longer than zookeeper.session.timeout.ms. `controller` says whether the broker was the controller as well.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks import frames
from benchmarks.frames import Address
from benchmarks.measure import Figures
from benchmarks.raw_client import Connection
from kafka_py.testing.cluster import Cluster
from kafka_py.zk.admin_zk_client import AdminZkClient

PATIENCE_S = 1.0
ALL = -1
SESSION_MS = 6000
PROPERTIES = {"min.insync.replicas": "2", "zookeeper.session.timeout.ms": str(SESSION_MS)}
LONGEST_S = 120.0


def _kill(cluster: Cluster, broker: int) -> None:
    cluster.broker(broker).process.signal(9)


def _terminate(cluster: Cluster, broker: int) -> None:
    cluster.broker(broker).process.signal(15)


# what is done, whether a session has to end first, and how all is well again
FAULTS: Mapping[str, tuple[Callable[[Cluster, int], object], bool, Callable[[Cluster, int], object]]] = {
    "kill": (_kill, True, Cluster.start_broker),
    "hang": (Cluster.stop, True, Cluster.cont),
    "cut": (
        lambda cluster, broker: cluster.cut(broker, "zookeeper"),
        True,
        lambda cluster, broker: cluster.heal(),
    ),
    "stop": (_terminate, False, Cluster.start_broker),
}


def produce_to_all(topic: str, partitions: Sequence[int], batch: bytes) -> bytes:
    """Produce version 3 of one batch to each of the partitions, acks=all."""
    parts = [struct.pack(">hhii", -1, ALL, int(PATIENCE_S * 1000), 1), frames.string(topic)]
    parts.append(struct.pack(">i", len(partitions)))
    parts += [struct.pack(">ii", partition, len(batch)) + batch for partition in partitions]
    return frames.request(frames.PRODUCE, 3, 1, b"".join(parts))


def accepted(answer: bytes) -> set[int]:
    """The partitions without an error in an answer to produce_to_all."""
    reader = frames.Reader(answer)
    found = set()
    for _ in range(reader.take("i")):
        reader.string()
        for _ in range(reader.take("i")):
            partition, error = reader.take("i"), reader.take("h")
            reader.skip(16)
            if not error:
                found.add(partition)
    return found


class Client:
    """Asks and sends with one second of patience, over connections that it keeps until they fail."""

    def __init__(self) -> None:
        self._connections: dict[Address, Connection] = {}

    def call(self, address: Address, request: bytes) -> bytes | None:
        """None when there is no answer in time."""
        try:
            connection = self._connections.get(address)
            if connection is None:
                connection = self._connections[address] = Connection(address, PATIENCE_S)
            return connection.call(request)
        except OSError:
            lost = self._connections.pop(address, None)
            if lost is not None:
                lost.close()
            return None

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


def send_until_accepted(client: Client, topic: str, left: set[int], others: Sequence[Address], old: Address) -> int:
    """Send a record to each of the partitions until each is taken by another than the old leader; how many tries."""
    batch = frames.record_batch([b"x"], int(time.time() * 1000))
    tries, deadline = 0, time.perf_counter() + LONGEST_S
    while left:
        if time.perf_counter() > deadline:
            raise TimeoutError(f"{len(left)} partitions took nothing within {LONGEST_S:g} s")
        tries += 1
        answer = client.call(others[tries % len(others)], frames.metadata_request(topic))
        leaders = {} if answer is None else frames.parse_metadata(answer)
        for leader in others:
            led = [partition for partition in sorted(left) if leaders.get(partition) == leader]
            if led and (taken := client.call(leader, produce_to_all(topic, led, batch))) is not None:
                left -= accepted(taken)
        if left:
            time.sleep(0.01)
    return tries


def failover(cluster: Cluster, topic: str, fault: str, is_controller: bool) -> Figures:
    """One fault, from when all is well until it is again."""
    do, ends_a_session, heal = FAULTS[fault]
    addresses = {broker.id: Address("127.0.0.1", broker.port) for broker in cluster.brokers}
    controller = cluster.await_controller()
    victim = controller if is_controller else next(id for id in addresses if id != controller)
    client = Client()
    try:
        answer = client.call(addresses[controller], frames.metadata_request(topic))
        assert answer is not None
        led = {partition for partition, leader in frames.parse_metadata(answer).items() if leader == addresses[victim]}
        if not led:
            cluster.move_leader(topic, 0, victim)
            led = {0}
        others = [address for id, address in addresses.items() if id != victim]
        began = time.perf_counter()
        do(cluster, victim)
        send_until_accepted(client, topic, set(led), others, addresses[victim])
        took = time.perf_counter() - began
    finally:
        client.close()
    if fault in ("kill", "stop"):
        cluster.broker(victim).process._process.wait(60)
    heal(cluster, victim)
    cluster.await_no_under_replicated(topic)
    cluster.elect_preferred(topic)
    over = {"over_session_s": took - SESSION_MS / 1000} if ends_a_session else {}
    return {"led": float(len(led)), "accepted_s": took, **over}


def create(cluster: Cluster, topic: str, partitions: int) -> None:
    """A topic with three replicas, all in sync."""
    with cluster.zookeeper_client() as client:
        AdminZkClient(client).create_topic(topic, partitions, 3)
    cluster.await_no_under_replicated(topic)


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """All sizes and faults; each as it is measured is printed as a line of JSON."""
    found = []
    for size in options.partitions:
        with Cluster(3, properties=PROPERTIES) as cluster:
            create(cluster, "failover", size)
            for _ in range(options.n):
                for fault in options.faults:
                    for is_controller in (False, True):
                        figures = failover(cluster, "failover", fault, is_controller)
                        told = {name: round(value, 2) for name, value in figures.items()}
                        line = {"partitions": size, "fault": fault, "controller": is_controller, **told}
                        found.append(line)
                        print(json.dumps(line), flush=True)
    return found


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole.add_argument("--partitions", type=lambda text: [int(n) for n in text.split(",")], default=[1, 1000])
    whole.add_argument("--faults", type=lambda text: text.split(","), default=list(FAULTS))
    whole.add_argument("-n", type=int, default=1, help="times each")
    return whole


if __name__ == "__main__":
    sys.exit(0 if run(parser().parse_args()) else 1)
