"""A consumer group before one's eyes: a member, a second one, what they commit, and what happens when one leaves.

Ours, no original. The members are librdkafka's consumers. The table is that of kafka-consumer-groups, and what each
member asked the coordinator comes from the brokers' own journals (kafka.py.xray=on).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kafka_py.admin.consumer_group_command import ConsumerGroupService
from kafka_py.admin.consumer_group_command_options import ConsumerGroupCommandOptions
from kafka_py.common.utils.time import Time
from kafka_py.lab.control import Tell
from kafka_py.lab.round_trip import journal
from kafka_py.testing.local_cluster import LocalBroker

GROUP = "lab-group"
_TIMEOUT_MS = 60_000
_IDLE_MS = 3_000
_HEARTBEAT_MS = 500
_POLL_S = 0.02
# In the order in which a member asks for them
_APIS = ("FindCoordinator", "JoinGroup", "SyncGroup", "OffsetFetch", "OffsetCommit", "Heartbeat", "LeaveGroup")


class Member:
    """One consumer of the group.

    Thread: the lab's only one; librdkafka tells of rebalances on it, by ``poll``
    """

    def __init__(self, name: str, servers: str, topic: str) -> None:
        """Joins with the first polls."""
        self.name = name
        self.client_id = f"kafka-lab-{name}"
        settings = {
            "bootstrap.servers": servers,
            "client.id": self.client_id,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # how soon a member hears of a rebalance
            "heartbeat.interval.ms": _HEARTBEAT_MS,
        }
        self._consumer = Consumer(settings)
        self._reads = False  # thread: lab
        self.assignments = 0  # thread: lab
        self.partitions: list[int] = []  # thread: lab
        self.read: dict[int, int] = {}  # thread: lab
        self._consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.assign(partitions)
        if not self._reads:
            consumer.pause(partitions)
        self.assignments += 1
        self.partitions = sorted(tp.partition for tp in partitions)

    def _on_revoke(self, *_: object) -> None:
        self.partitions = []

    def resume(self) -> None:
        """Begin to read, now that all are there."""
        self._reads = True
        self._consumer.resume(self._consumer.assignment())

    def poll(self) -> bool:
        """Whether a record came; raises KafkaException for an error instead of one."""
        message = self._consumer.poll(_POLL_S)
        if message is None:
            return False
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        partition = message.partition()
        assert partition is not None, "a record without an error has one"
        self.read[partition] = self.read.get(partition, 0) + 1
        return True

    def commit(self) -> dict[int, int]:
        """Commit how far this member has read; partition -> offset. Raises KafkaException."""
        committed = self._consumer.commit(asynchronous=False) if self.read else []
        return {tp.partition: tp.offset for tp in committed or () if tp.error is None}

    def has(self) -> str:
        """Which partitions it has."""
        return "nothing" if not self.partitions else ", ".join(map(str, self.partitions))

    def leave(self) -> None:
        """Tell the coordinator, and be gone."""
        self._consumer.close()


class GroupStory:
    """Two members come, read and commit, and go one after the other.

    Thread: the lab's only one
    """

    def __init__(
        self, servers: str, topic: str, brokers: Sequence[LocalBroker], say: Tell, time: Time = Time.SYSTEM
    ) -> None:
        self._servers = servers
        self._topic = topic
        self._brokers = brokers
        self._say = say
        self._time = time
        self._members: list[Member] = []

    def tell(self, records: int, *, short: bool) -> bool:
        """Whether the group read at least so many records; ``short``: without the table and the requests.

        Raises TimeoutError for a group that does not settle, KafkaException for what brokers answer.
        """
        self._say(f"\nGroup '{GROUP}' reads topic '{self._topic}':")
        try:
            return self._tell(records, short)
        finally:
            for member in self._members:
                member.leave()

    def _tell(self, records: int, short: bool) -> bool:
        first = self._joins("A")
        self._settle("A is alone", lambda: first.assignments > 0)
        second = self._joins("B")
        before = first.assignments
        self._settle(
            "B has joined, the group has rebalanced", lambda: second.assignments * (first.assignments - before) > 0
        )
        read = self._read_all(records)
        for member in self._members:
            committed = ", ".join(f"partition {p} at {offset}" for p, offset in sorted(member.commit().items()))
            self._say(f"  {member.name} has read {sum(member.read.values())} records and commits: {committed or '-'}")
        if not short:
            self._describe()
        self._leaves(second, first)
        if not short:
            self._tell_requests()
        return read >= records

    def _joins(self, name: str) -> Member:
        member = Member(name, self._servers, self._topic)
        self._members.append(member)
        return member

    def _settle(self, what: str, is_so: Callable[[], bool]) -> None:
        """Wait until it is so, and say how long it took and who has what now."""
        began = self._time.milliseconds()
        while not is_so():
            if self._time.milliseconds() - began > _TIMEOUT_MS:
                raise TimeoutError(f"Group {GROUP}: not within {_TIMEOUT_MS // 1000} s: {what}")
            for member in self._members:
                member.poll()
        took = (self._time.milliseconds() - began) / 1000
        shares = "; ".join(f"{member.name} has {member.has()}" for member in self._members)
        self._say(f"  {what} after {took:.1f} s: {shares}")

    def _read_all(self, records: int) -> int:
        """Read until there are so many, or nothing comes any more; how many there were."""
        for member in self._members:
            member.resume()
        last = self._time.milliseconds()
        while self._count() < records and self._time.milliseconds() - last < _IDLE_MS:
            for member in self._members:
                if member.poll():
                    last = self._time.milliseconds()
        return self._count()

    def _count(self) -> int:
        return sum(sum(member.read.values()) for member in self._members)

    def _leaves(self, leaving: Member, staying: Member) -> None:
        before = staying.assignments
        self._members.remove(leaving)
        leaving.leave()
        self._settle(f"{leaving.name} has left, the group has rebalanced", lambda: staying.assignments > before)

    def _describe(self) -> None:
        """The table of kafka-consumer-groups --describe."""
        options = ["--bootstrap-server", self._servers, "--describe", "--group", GROUP]
        service = ConsumerGroupService(ConsumerGroupCommandOptions(options))
        try:
            service.describe_group()
        finally:
            service.close()

    def _tell_requests(self) -> None:
        """What the members asked, by API."""
        for name in ("A", "B"):
            asked: dict[str, int] = {}
            for broker in self._brokers:
                for request in journal(broker, clientId=f"kafka-lab-{name}"):
                    api = str(request["api"]).replace("_", "").lower()
                    asked[api] = asked.get(api, 0) + 1
            counts = ", ".join(f"{asked[api.lower()]} {api}" for api in _APIS if api.lower() in asked)
            self._say(f"  {name} asked: {counts}")
