"""A cluster to which things are done: brokers die and hang, links are cut, sessions expire, disks fail, leaders move.

Ours, no original. Everything is done for real, from outside: by signals, through proxies between the processes, in
files, in ZooKeeper and by requests. A verb returns when what it does is done; ``await_…`` wait for what follows of it.

Read next: links.py, the proxies; faults.py, the same verbs for commands and buttons
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import signal
import socket
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient
from kafka_py.common.errors import KafkaException
from kafka_py.common.node import Node
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.server.config_type import ConfigType
from kafka_py.testing.first_bytes import end_of
from kafka_py.testing.links import ZOOKEEPER, Door, End, Links
from kafka_py.testing.local_cluster import INTERNAL, LocalBroker, LocalCluster, LocalProcess
from kafka_py.testing.log_tail import corrupt_tail
from kafka_py.testing.request_flood import RequestFlood
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zookeeper.zoo_keeper_client import ZooKeeperClientException

TIMEOUT_S = 60.0
# Of a topic for which nobody says how many.
MOST_REPLICAS = 3
_SIGNAL_TIMEOUT_S = 5.0
_LOOK_EVERY_MS = 10
_ZOOKEEPER_TIMEOUT_MS = 20_000
_HTTP_TIMEOUT_S = 20
_SPARE_CONNECTIONS = 16
_MOVED_ASIDE = ".failed"


class FaultError(RuntimeError):
    """What was asked for makes no sense as things are; the text says why."""


class Cluster(LocalCluster):
    """A LocalCluster with verbs. Brokers are meant by their ids, ZooKeeper by the word ``zookeeper``.

    Where there are several brokers, they speak with each other through a listener of their own, INTERNAL, and through
    proxies; clients reach them directly. With a ZooKeeper that was there before, nothing stands before ZooKeeper.

    Thread: of its owner; ``lock`` is for owners with several
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        zookeeper: str = "embedded",
        home: pathlib.Path | None = None,
        properties: Mapping[str, str] | None = None,
        log_dirs: int = 1,
    ) -> None:
        super().__init__(brokers, port=port, zookeeper=zookeeper, home=home, properties=properties, log_dirs=log_dirs)
        self.lock = ReentrantLock()
        self._time = Time.SYSTEM
        self._links = Links()
        self._zookeeper_doors: dict[int, Door] = {}  # thread: of its owner
        self._floods: dict[int, RequestFlood] = {}  # thread: of its owner
        for broker in self.brokers:
            if brokers > 1:
                self._give_a_door(broker)
            if not self.zookeeper_connect:
                self._zookeeper_doors[broker.id] = self._links.open_door(ZOOKEEPER, self._zookeeper_address, broker.id)

    def _give_a_door(self, broker: LocalBroker) -> None:
        door = self._links.open_door(broker.id, lambda: ("127.0.0.1", broker.internal_port))
        names = ("PLAINTEXT", INTERNAL)
        broker.properties["listeners"] += f",{INTERNAL}://127.0.0.1:0"
        broker.properties["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:0,{INTERNAL}://127.0.0.1:{door.port}"
        broker.properties["listener.security.protocol.map"] = ",".join(f"{name}:PLAINTEXT" for name in names)
        broker.properties["inter.broker.listener.name"] = INTERNAL

    def _zookeeper_address(self) -> tuple[str, int]:
        host, _, port = self.zookeeper_connect.rpartition(":")
        return host, int(port)

    def _zookeeper_connect_of(self, broker: LocalBroker) -> str:
        door = self._zookeeper_doors.get(broker.id)
        return self.zookeeper_connect if door is None else f"127.0.0.1:{door.port}"

    def start(self) -> Cluster:
        """All at once; returns when each knows of all others."""
        self._links.start()
        super().start()
        return self

    def __enter__(self) -> Cluster:
        return self.start()

    def close(self) -> None:
        """Kill the brokers, stop ZooKeeper, and remove the directory if it was a temporary one.

        Ended one by one, the last would ask for 15 s who takes over from it.
        """
        for broker in self.brokers:
            if broker.was_started:
                broker.process.kill()
        for flood in self._floods.values():
            flood.close()
        self._floods.clear()
        super().close()
        self._links.close()

    def broker(self, id: int) -> LocalBroker:
        """Raises FaultError where there is none."""
        for broker in self.brokers:
            if broker.id == id:
                return broker
        raise FaultError(f"There is no broker {id}; there are {', '.join(str(broker.id) for broker in self.brokers)}")

    # -- Processes

    def kill(self, broker: int) -> None:
        """SIGKILL: gone at once; ZooKeeper believes in it until its session ends."""
        self._alive(broker).kill()

    def terminate(self, broker: int) -> None:
        """SIGTERM: it hands its partitions over, then ends."""
        self._alive(broker).stop()

    def stop(self, broker: int) -> None:
        """SIGSTOP: it hangs; its connections stay open and nobody answers."""
        self._send(self._alive(broker), signal.SIGSTOP)

    def cont(self, broker: int) -> None:
        """SIGCONT: it goes on as if nothing had been."""
        self._send(self._alive(broker), signal.SIGCONT)

    def start_broker(self, broker: int) -> None:
        """Start one that has ended, with its directories and ports, once ZooKeeper has forgotten its last life."""
        ended = self.broker(broker)
        if ended.process.is_running:
            raise FaultError(f"Broker {broker} runs already: pid {ended.process.pid}")
        self.await_forgotten(broker)
        ended.start()

    def restart(self, broker: int, how: str = "terminate") -> None:
        """End a broker (how: terminate or kill) if it runs, and start it again."""
        if how not in ("terminate", "kill"):
            raise FaultError(f"A broker is restarted by terminate or kill, not by {how}")
        if self.broker(broker).process.is_running:
            (self.terminate if how == "terminate" else self.kill)(broker)
        self.start_broker(broker)

    def _alive(self, broker: int) -> LocalProcess:
        process = self.broker(broker).process
        if not process.is_running:
            raise FaultError(f"Broker {broker} has ended ({process.how_it_ended})")
        return process

    def _send(self, process: LocalProcess, number: signal.Signals) -> None:
        """Send SIGSTOP or SIGCONT and wait until it has taken effect."""
        process.signal(number)
        stopped = number == signal.SIGSTOP
        self._wait(f"{process.name} obeying {number.name}", lambda: process.is_stopped == stopped, _SIGNAL_TIMEOUT_S)

    # -- Links

    def cut(self, a: End, b: End, one_way: bool = False) -> None:
        """Let nothing pass between two ends, or one way, from the first to the second; nobody is told of it."""
        for way in [(a, b)] if one_way else [(a, b), (b, a)]:
            self._linked(*way)
            self._links.rules.cut(way)
        self._links.notice()

    def slow_link(self, a: End, b: End, delay_ms: float, one_way: bool = False) -> None:
        """Let everything between two ends come so much later, each way, or only from the first to the second."""
        for way in [(a, b)] if one_way else [(a, b), (b, a)]:
            self._linked(*way)
            self._links.rules.delay(way, delay_ms)
        self._links.notice()

    def heal(self, a: End | None = None, b: End | None = None) -> None:
        """Undo cut and slow_link between two ends, or all of them between all ends; what was kept back arrives."""
        if a is None or b is None:
            self._links.rules.heal_all()
        else:
            self._linked(a, b)
            self._links.rules.heal((a, b))
            self._links.rules.heal((b, a))
        self._links.notice()

    def hold_fetcher(self, follower: int, leader: int | None = None) -> None:
        """Let a follower's fetchers hear nothing of that leader, or of any: it falls behind while all else goes on."""
        for other in self._others(follower, leader):
            self._links.rules.hold_fetcher(follower, other)
        self._links.notice()

    def release_fetcher(self, follower: int, leader: int | None = None) -> None:
        """Let the fetchers go on where they were held."""
        for other in self._others(follower, leader):
            self._links.rules.release_fetcher(follower, other)
        self._links.notice()

    def _others(self, broker: int, other: int | None) -> list[int]:
        """The one that is named, or all but the first."""
        found = [other] if other is not None else [one.id for one in self.brokers if one.id != broker]
        for id in found:
            self._linked(broker, id)
        return found

    def links(self) -> dict[str, list[str]]:
        """What is cut, slow or held now, for people."""
        return self._links.rules.snapshot()

    def _linked(self, a: End, b: End) -> None:
        """Raises FaultError where no proxy stands between two ends."""
        if a == b:
            raise FaultError(f"There is no link between {a} and itself")
        for end in (a, b):
            if end != ZOOKEEPER:
                self.broker(int(end))
            elif not self._zookeeper_doors:
                raise FaultError("This ZooKeeper was there before; nothing stands before it")

    # -- ZooKeeper

    def expire_session(self, broker: int) -> int:
        """End a broker's ZooKeeper session as if it had not been heard of in time; the session's id.

        A second client takes the session over and closes it: ephemeral nodes go, the broker is told "expired".
        """
        door = self._zookeeper_doors.get(self.broker(broker).id)
        if door is None or door.session is None:
            raise FaultError(
                f"The session of broker {broker} is not known: it did not begin through the cluster's link"
            )
        session = door.session
        with socket.create_connection(self._zookeeper_address(), _HTTP_TIMEOUT_S) as client:
            client.sendall(end_of(session))
            while client.recv(1 << 12):
                continue
        return session.id

    def stop_zookeeper(self, how: str = "kill") -> None:
        """End ZooKeeper (how: kill or terminate) or let it hang (stop) until start_zookeeper."""
        if self.zookeeper is None or not self.zookeeper.is_running:
            raise FaultError("No ZooKeeper of this cluster runs")
        actions: dict[str, Callable[[LocalProcess], object]] = {
            "kill": LocalProcess.kill,
            "terminate": LocalProcess.stop,
            "stop": lambda process: self._send(process, signal.SIGSTOP),
        }
        if how not in actions:
            raise FaultError(f"ZooKeeper is stopped by {', '.join(actions)}, not by {how}")
        actions[how](self.zookeeper)

    def start_zookeeper(self, port: int = 0) -> None:
        """Start ZooKeeper, or let it go on; on the port and data that it had before."""
        if self.zookeeper is None:
            super().start_zookeeper(port)
        elif not self.zookeeper.is_running:
            super().start_zookeeper(port or self._zookeeper_address()[1])
        elif self.zookeeper.is_stopped:
            self._send(self.zookeeper, signal.SIGCONT)

    @contextlib.contextmanager
    def zookeeper_client(self) -> Iterator[KafkaZkClient]:
        """What brokers and tools use, past all links. Raises FaultError when ZooKeeper does not answer."""
        timeout = _ZOOKEEPER_TIMEOUT_MS
        try:
            client = KafkaZkClient.create(self.zookeeper_connect, False, timeout, timeout, 10, self._time)
        except (KafkaException, ZooKeeperClientException) as e:
            raise FaultError(f"ZooKeeper at {self.zookeeper_connect} does not answer: {e}") from e
        try:
            yield client
        finally:
            client.close()

    # -- Disks

    def fail_log_dir(self, broker: int, n: int) -> None:
        """Take the broker's n-th log directory away and put a file in its place: the next write of any kind fails.

        Returns when the broker has noticed. The directory waits beside it for heal_log_dir.
        """
        log_dir = self._log_dir(broker, n)
        aside = log_dir.with_name(log_dir.name + _MOVED_ASIDE)
        if aside.exists():
            raise FaultError(f"{log_dir} has failed already")
        before = self._offline_dirs(broker)
        log_dir.rename(aside)
        log_dir.write_text("no directory any more\n")
        process = self.broker(broker).process
        self._wait(
            f"broker {broker} noticing that {log_dir} fails",
            lambda: not process.is_running or self._offline_dirs(broker) > before,
        )

    def heal_log_dir(self, broker: int, n: int) -> None:
        """Put a failed log directory back; the broker looks at it when it is started again."""
        log_dir = self._log_dir(broker, n)
        aside = log_dir.with_name(log_dir.name + _MOVED_ASIDE)
        if not aside.exists():
            raise FaultError(f"{log_dir} has not failed")
        log_dir.unlink()
        aside.rename(log_dir)

    def corrupt_tail(self, broker: int, topic: str, partition: int, what: str = "torn") -> pathlib.Path:
        """Spoil the end of a log (what: torn, crc or index) of a broker that has ended; the file it was done to.

        A broker that ended well trusts its logs: it believes them only until they are read. Kill it first.
        """
        if self.broker(broker).process.is_running:
            raise FaultError(f"Broker {broker} runs; kill it first")
        for log_dir in self.broker(broker).log_dirs:
            if (log_dir / f"{topic}-{partition}").is_dir():
                return corrupt_tail(log_dir / f"{topic}-{partition}", what)
        raise FaultError(f"Broker {broker} has no log of {topic}-{partition}")

    def failed_log_dirs(self, broker: int) -> list[int]:
        """Those that fail_log_dir has taken away."""
        log_dirs = self.broker(broker).log_dirs
        return [n for n, path in enumerate(log_dirs) if path.with_name(path.name + _MOVED_ASIDE).exists()]

    def _log_dir(self, broker: int, n: int) -> pathlib.Path:
        log_dirs = self.broker(broker).log_dirs
        if not 0 <= n < len(log_dirs):
            raise FaultError(f"Broker {broker} has log directories 0 to {len(log_dirs) - 1}")
        return log_dirs[n]

    def _offline_dirs(self, broker: int) -> float:
        try:
            return sum(self.gauge(broker, "OfflineLogDirectoryCount").values())
        except OSError:
            return 0.0

    # -- Requests

    def fill_request_queue(self, broker: int) -> None:
        """Send more than the broker can handle; returns when its request queue is full, which it is until drained."""
        if broker in self._floods:
            raise FaultError(f"The request queue of broker {broker} is being filled already")
        self._alive(broker)
        filled = self.broker(broker)
        capacity = int(filled.properties.get("queued.max.requests", "500"))
        handlers = int(filled.properties.get("num.io.threads", "8"))
        flood = RequestFlood(("127.0.0.1", filled.port), capacity + handlers + _SPARE_CONNECTIONS)
        self._floods[broker] = flood
        flood.start()
        self._wait(f"a full request queue of broker {broker}", lambda: self._queue_size(broker) >= capacity)

    def drain_request_queue(self, broker: int) -> None:
        """Stop filling the queue; what is in it is handled."""
        flood = self._floods.pop(broker, None)
        if flood is None:
            raise FaultError(f"Nobody fills the request queue of broker {broker}")
        flood.close()

    def gauge(self, broker: int, name: str) -> dict[str, float]:
        """The numbers of a broker's beans with that name, by the beans' names. Raises OSError."""
        query = urllib.parse.quote(f"*name={name}*")
        url = f"http://127.0.0.1:{self.broker(broker).metrics_port}/jmx?qry={query}"
        with urllib.request.urlopen(url, timeout=_HTTP_TIMEOUT_S) as answer:
            return {bean["name"]: bean["Value"] for bean in json.load(answer)["beans"]}

    def _queue_size(self, broker: int) -> float:
        return max(self.gauge(broker, "RequestQueueSize").values(), default=0)

    # -- Topics

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        replicas: Sequence[int] | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Create a topic and wait until it has leaders and all know it; its name. replicas: of each, in this order.

        Without replicas it is spread over the brokers that live, with as many replicas as there are brokers, at most
        three. A broker that runs and from which nothing is cut off knows the topic when this returns.
        """
        with self.zookeeper_client() as client:
            admin = AdminZkClient(client)
            if not replicas:
                alive = admin.get_broker_metadatas()
                count = min(MOST_REPLICAS, len(alive)) if replication_factor is None else replication_factor
                assignment = AdminUtils.assign_replicas_to_brokers(alive, partitions, count)
            elif replication_factor not in (None, len(replicas)):
                raise FaultError(f"{len(replicas)} brokers are named, and {replication_factor} replicas asked for")
            else:
                assignment = {partition: [self.broker(id).id for id in replicas] for partition in range(partitions)}
            admin.create_or_update_topic_partition_assignment_path_in_zk(topic, assignment, config or {})
            tps = [TopicPartition(topic, partition) for partition in assignment]
            self._wait(
                f"leaders of {topic}", lambda: all(self._leader(client, partition) is not None for partition in tps)
            )
        if not self.links()["cut"]:
            for broker in self.brokers:
                if broker.process.is_running and not broker.process.is_stopped:
                    self._await_known(broker, topic, partitions)
        return topic

    def _await_known(self, broker: LocalBroker, topic: str, partitions: int) -> None:
        """Wait until a broker tells clients who leads each of the topic's partitions, or has ended."""
        node = Node(broker.id, "127.0.0.1", broker.port)
        client = AdminClient.create(broker.address)

        def knows() -> bool:
            try:
                response = client.send(node, MetadataRequest.Builder([topic], False))
            except OSError:
                return not broker.process.is_running
            assert isinstance(response, MetadataResponse)
            found = [partition for told in response.topic_metadata() for partition in told.partition_metadata]
            return len(found) == partitions and all(partition.leader_id() >= 0 for partition in found)

        try:
            self._wait(f"broker {broker.id} knowing {topic}", knows)
        finally:
            client.close()

    def delete_topic(self, topic: str) -> None:
        """Have the controller delete a topic, and wait until it has."""
        with self.zookeeper_client() as client:
            AdminZkClient(client).delete_topic(topic)
            self._wait(f"the end of {topic}", lambda: not client.topic_exists(topic))

    def describe_topic(self, topic: str) -> dict[int, dict[str, Any]]:
        """Of each partition: leader (null when there is none that lives), replicas and isr."""
        with self.zookeeper_client() as client:
            assigned = client.get_replica_assignment_for_topics([topic])
            if not assigned:
                raise FaultError(f"There is no topic {topic}")
            return {
                tp.partition: {"leader": self._leader(client, tp), "replicas": replicas, "isr": self._isr(client, tp)}
                for tp, replicas in sorted(assigned.items(), key=lambda item: item[0].partition)
            }

    # -- Leaders

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make a broker the partition's first replica, and have it elected; the log is copied there if need be."""
        self.broker(to)
        tp = TopicPartition(topic, partition)
        with self.zookeeper_client() as client:
            replicas = client.get_replicas_for_partition(tp)
            if not replicas:
                raise FaultError(f"There is no partition {tp}")
            if replicas[0] != to:
                wanted = [to, *(id for id in replicas if id != to)][: len(replicas)]
                client.create_partition_reassignment({tp: wanted})
                self._wait(f"the move of {tp}", lambda: not client.reassign_partitions_in_progress())
        self.elect_preferred(topic, partition)
        self.await_leader(topic, partition, to)

    def elect_preferred(self, topic: str | None = None, partition: int | None = None) -> None:
        """Have the controller make first replicas leaders again: of one partition, of a topic, or of all."""
        with self.zookeeper_client() as client:
            partitions = {tp for tp in client.get_all_partitions() if topic in (None, tp.topic)}
            partitions = {tp for tp in partitions if partition in (None, tp.partition)}
            if not partitions:
                raise FaultError(f"There is no such partition: {topic}-{partition}")
            client.create_preferred_replica_election(partitions)
            self._wait("the preferred election", lambda: not client.get_preferred_replica_election())

    def unclean_election(self, topic: str, partition: int) -> int:
        """Let a replica lead that is not in sync, as none is alive that is; its id. What only others have is lost.

        The topic keeps unclean.leader.election.enable=true. A new controller is made, for only one that begins looks.
        """
        tp = TopicPartition(topic, partition)
        with self.zookeeper_client() as client:
            self._wait(f"the end of the leader of {tp}", lambda: self._leader(client, tp) is None)
            admin = AdminZkClient(client)
            before = admin.fetch_entity_config(ConfigType.TOPIC, topic)
            admin.change_topic_config(topic, {**before, "unclean.leader.election.enable": "true"})
            client.delete_controller()
        return self.await_leader(topic, partition)

    # -- Waiting

    def await_isr(self, topic: str, partition: int, isr: Sequence[int], timeout_s: float = TIMEOUT_S) -> None:
        """Wait until exactly these brokers are in sync, in whatever order."""
        tp, wanted = TopicPartition(topic, partition), sorted(isr)
        with self.zookeeper_client() as client:
            self._wait(f"ISR {wanted} of {tp}", lambda: self._isr(client, tp) == wanted, timeout_s)

    def await_leader(self, topic: str, partition: int, leader: int | None = None, timeout_s: float = TIMEOUT_S) -> int:
        """Wait until that broker, or any that is alive, leads; its id."""
        tp = TopicPartition(topic, partition)
        with self.zookeeper_client() as client:

            def leads() -> int | None:
                found = self._leader(client, tp)
                return found if leader in (None, found) else None

            who = "a leader" if leader is None else f"leader {leader}"
            return self._wait_for(f"{who} of {tp}", leads, timeout_s)

    def await_controller(self, broker: int | None = None, timeout_s: float = TIMEOUT_S) -> int:
        """Wait until that broker, or any, is the controller; its id."""
        with self.zookeeper_client() as client:

            def controls() -> int | None:
                found = client.get_controller_id()
                return found if broker in (None, found) else None

            who = "a controller" if broker is None else f"controller {broker}"
            return self._wait_for(who, controls, timeout_s)

    def await_registered(self, broker: int, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until ZooKeeper knows the broker."""
        with self.zookeeper_client() as client:
            registered = client.get_sorted_broker_list
            self._wait(f"broker {broker} being registered", lambda: broker in registered(), timeout_s)

    def await_forgotten(self, broker: int, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until ZooKeeper knows the broker no more: the session of one that was killed has ended."""
        with self.zookeeper_client() as client:
            registered = client.get_sorted_broker_list
            self._wait(f"broker {broker} being forgotten", lambda: broker not in registered(), timeout_s)

    def await_group_state(self, group: str, state: str, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until a group is Stable, Empty, Dead, PreparingRebalance or CompletingRebalance."""
        processes = [(broker.process, broker.address) for broker in self.brokers]
        alive = [address for process, address in processes if process.is_running and not process.is_stopped]
        client = ConsumerGroupsClient.create(",".join(alive))
        try:

            def seen() -> bool:
                try:
                    return client.describe_consumer_group(group).state == state
                except (KafkaException, OSError):  # nobody coordinates it yet, or no more
                    return False

            self._wait(f"group {group} being {state}", seen, timeout_s)
        finally:
            client.close()

    def await_no_under_replicated(self, topic: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until every replica, of a topic or of all, is in sync."""
        with self.zookeeper_client() as client:
            self._wait("no under-replicated partition", lambda: self._all_in_sync(client, topic), timeout_s)

    def _all_in_sync(self, client: KafkaZkClient, topic: str | None) -> bool:
        topics = [name for name in client.get_all_topics_in_cluster() if topic in (None, name)]
        assigned = client.get_replica_assignment_for_topics(topics)
        states = client.get_topic_partition_states(list(assigned))
        return all(
            tp in states and sorted(states[tp].leader_and_isr.isr) == sorted(replicas)
            for tp, replicas in assigned.items()
        )

    @staticmethod
    def _isr(client: KafkaZkClient, tp: TopicPartition) -> list[int] | None:
        state = client.get_topic_partition_state(tp)
        return None if state is None else sorted(state.leader_and_isr.isr)

    @staticmethod
    def _leader(client: KafkaZkClient, tp: TopicPartition) -> int | None:
        """None when there is none, or one whose session has ended."""
        leader = client.get_leader_for_partition(tp)
        return leader if leader in client.get_sorted_broker_list() else None

    def _wait(self, what: str, condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Raises TimeoutError, which says what did not come about."""
        self._wait_for(what, lambda: condition() or None, timeout_s)

    def _wait_for(self, what: str, look: Callable[[], int | None], timeout_s: float) -> int:
        """Look until something is found."""
        deadline = self._time.hi_res_clock_ms() + timeout_s * 1000
        while (found := look()) is None:
            if self._time.hi_res_clock_ms() > deadline:
                raise TimeoutError(f"Not within {timeout_s:g} s: {what}")
            self._time.sleep(_LOOK_EVERY_MS)
        return found
