"""A consumer group of bare protocol clients that join, leave and die at random, and the ledger that they are held to.

Members are threads with sockets of their own. They do what a consumer does (find the coordinator, join, assign if they
lead, heartbeat, commit), so that the test knows of every answer which generation it belongs to. What must hold:

- in one generation no partition is given to two members, and every partition to one;
- a commit of an earlier generation is not accepted once one of a later generation was;
- what a member finds as committed is never less than what had been acknowledged before it asked;
- no member waits for ever.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.heartbeat_request import HeartbeatRequest
from kafka_py.common.requests.join_group_request import JoinGroupRequest
from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.sync_group_request import SyncGroupRequest
from tests.integration.wire import Connection, request

HEARTBEAT_S = 0.2
SESSION_TIMEOUT_MS = 1_500
REBALANCE_TIMEOUT_MS = 3_000
STUCK_S = 60.0  # longer than a broker's death, its session, an election and the loading of the group together
T = TypeVar("T")
# the coordinator is elsewhere, or not there yet
_MOVED = frozenset({Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS})
_RETRIABLE = _MOVED | {Errors.REQUEST_TIMED_OUT, Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_ENOUGH_REPLICAS}
_FORGOTTEN = frozenset({Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION, Errors.MEMBER_ID_REQUIRED})


class RejoinError(Exception):
    """The member is to join again, under its id or, if `forgotten`, as a new one."""

    def __init__(self, forgotten: bool) -> None:
        super().__init__(f"rejoin, forgotten={forgotten}")
        self.forgotten = forgotten


class Ledger:
    """What all members were told. Thread: any."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._lock = threading.Lock()
        self._owners: dict[int, dict[int, str]] = {}  # generation -> partition -> member
        self._acked: dict[int, tuple[int, int]] = {}  # partition -> newest generation that committed, largest offset
        self.violations: list[str] = []
        self.commits = self.assignments = self.refused = 0

    @property
    def generations(self) -> int:
        with self._lock:
            return len(self._owners)

    def assigned(self, generation: int, member: str, partitions: Sequence[int]) -> None:
        with self._lock:
            self.assignments += 1
            owners = self._owners.setdefault(generation, {})
            for partition in partitions:
                if owners.setdefault(partition, member) != member:
                    self.violations.append(f"generation {generation}: {partition} of {owners[partition]} and {member}")

    def acked(self, partition: int) -> tuple[int, int]:
        """(generation, offset) of the newest commit that is acknowledged."""
        with self._lock:
            return self._acked.get(partition, (-1, -1))

    def committed(self, partition: int, generation: int, offset: int, before: tuple[int, int]) -> None:
        """A commit was acknowledged; `before` is what acked() said when it was sent."""
        with self._lock:
            self.commits += 1
            if generation < before[0]:
                self.violations.append(f"{partition}: a commit of {generation} accepted after one of {before[0]}")
            known = self._acked.get(partition, (-1, -1))
            self._acked[partition] = max(known[0], generation), max(known[1], offset)

    def found(self, partition: int, offset: int, before: tuple[int, int]) -> None:
        """A member found that offset committed; `before` is what acked() said when it asked."""
        if offset < before[1]:
            with self._lock:
                self.violations.append(f"{partition}: {offset} found, {before[1]} had been acknowledged")

    def owners(self, generation: int) -> dict[int, str]:
        with self._lock:
            return dict(self._owners.get(generation, {}))


class Member(threading.Thread):
    """One consumer, until it is told to leave or to die."""

    def __init__(self, number: int, ports: Callable[[], Sequence[int]], group: str, topic: str, ledger: Ledger) -> None:
        super().__init__(name=f"member-{number}")
        self._ports = ports
        self._group = group
        self._topic = topic
        self._ledger = ledger
        self._random = random.Random(number)
        self._connection: Connection | None = None
        self._member_id = ""
        self.generation = -1
        self.partitions: list[int] = []
        self.last_progress = time.monotonic()
        self._end = threading.Event()
        self._says_goodbye = False
        self.failure: BaseException | None = None

    def leave(self) -> None:
        """Tell the group, and end."""
        self._says_goodbye = True
        self._end.set()

    def die(self) -> None:
        """End without a word; the group finds out by the session timeout."""
        self._end.set()

    @property
    def is_stuck(self) -> bool:
        return self.is_alive() and time.monotonic() - self.last_progress > STUCK_S

    def run(self) -> None:
        try:
            while not self._end.is_set():
                try:
                    self._live()
                except RejoinError as e:
                    self.partitions = []
                    if e.forgotten:
                        self._member_id = ""
                except (ConnectionError, TimeoutError, AssertionError, OSError):
                    self._disconnect()
                    self._end.wait(0.1)
            if self._says_goodbye and self._connection is not None:
                self._say_goodbye(self._connection)
        except BaseException as e:
            self.failure = e
        finally:
            self._disconnect()

    def _say_goodbye(self, connection: Connection) -> None:
        try:
            self._call(connection, LeaveGroupRequest(version=1, group_id=self._group, member_id=self._member_id))
        except (ConnectionError, TimeoutError, OSError):
            return  # it counts as one that died

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # ---- requests

    @staticmethod
    def _call(connection: Connection, message: RequestMessage) -> Any:
        api, version = message.API_KEY.id, message.version()
        connection.send(request(api, version, b"".join(bytes(part) for part in message.to_parts())))
        return connection.answer(api, version)

    def _coordinator(self) -> Connection:
        if self._connection is None:
            ports = list(self._ports())
            with Connection(self._random.choice(ports)) as asked:
                found = self._call(asked, FindCoordinatorRequest(version=1, key=self._group, key_type=0))
            if found.get("error_code") != 0:
                raise ConnectionError("no coordinator yet")
            self._connection = Connection(found.get("coordinator").get("port"))
            self._connection.socket.settimeout(STUCK_S)
        return self._connection

    def _check(self, error_code: int) -> None:
        """Return for 0; raise what the member has to do else."""
        error = Errors.for_code(error_code)
        if error is Errors.NONE:
            return
        self._ledger.refused += 1
        if error in _RETRIABLE:
            raise ConnectionError(str(error))
        if error is Errors.REBALANCE_IN_PROGRESS or error in _FORGOTTEN:
            raise RejoinError(error in _FORGOTTEN)
        raise RuntimeError(f"unexpected {error}")

    def _live(self) -> None:
        """One generation: join, sync, then heartbeats and commits until something makes the member join again."""
        connection = self._coordinator()
        self._join(connection)
        positions = self._committed(connection)
        while not self._end.wait(HEARTBEAT_S * self._random.uniform(0.5, 1.5)):
            beat = HeartbeatRequest(
                version=1, group_id=self._group, generation_id=self.generation, member_id=self._member_id
            )
            self._check(self._call(connection, beat).get("error_code"))
            for partition in self.partitions:
                positions[partition] += 1
            self._commit(connection, positions)
            self.last_progress = time.monotonic()

    def _join(self, connection: Connection) -> None:
        answer = self._call(connection, self._join_request())
        if answer.get("error_code") == Errors.MEMBER_ID_REQUIRED.code:
            self._member_id = answer.get("member_id")
            answer = self._call(connection, self._join_request())
        self._check(answer.get("error_code"))
        self._member_id, generation = answer.get("member_id"), answer.get("generation_id")
        assignment: list[SyncGroupRequest.Assignment] = []
        if answer.get("leader_id") == self._member_id:
            assignment = self._assignment([member.get("member_id") for member in answer.get("members")])
        sync = SyncGroupRequest(
            version=2,
            group_id=self._group,
            generation_id=generation,
            member_id=self._member_id,
            group_assignment=assignment,
        )
        synced = self._call(connection, sync)
        self._check(synced.get("error_code"))
        self.partitions = json.loads(bytes(synced.get("member_assignment")) or b"[]")
        self.generation = generation
        self._ledger.assigned(generation, self._member_id, self.partitions)
        self.last_progress = time.monotonic()

    def _join_request(self) -> JoinGroupRequest:
        protocol = JoinGroupRequest.Protocol(protocol_name="modulo", protocol_metadata=b"")
        return JoinGroupRequest(
            version=4,
            group_id=self._group,
            session_timeout=SESSION_TIMEOUT_MS,
            rebalance_timeout=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type="storm",
            group_protocols=[protocol],
        )

    def _assignment(self, members: Sequence[str]) -> list[SyncGroupRequest.Assignment]:
        given: dict[str, list[int]] = {member: [] for member in members}
        for partition in range(self._ledger.partitions):
            given[members[partition % len(members)]].append(partition)
        return [
            SyncGroupRequest.Assignment(member_id=member, member_assignment=json.dumps(partitions).encode())
            for member, partitions in given.items()
        ]

    def _committed(self, connection: Connection) -> dict[int, int]:
        """What is committed of the member's partitions, 0 where nothing is."""
        if not self.partitions:
            return {}
        before = {partition: self._ledger.acked(partition) for partition in self.partitions}
        partitions = [OffsetFetchRequest.Topic.Partition(partition=p) for p in self.partitions]
        topics = [OffsetFetchRequest.Topic(topic=self._topic, partitions=partitions)]
        answer = self._call(connection, OffsetFetchRequest(version=3, group_id=self._group, topics=topics))
        self._check(answer.get("error_code"))
        positions = {}
        for topic in answer.get("responses"):
            for data in topic.get("partition_responses"):
                self._check(data.get("error_code"))
                positions[data.get("partition")] = max(data.get("offset"), 0)
        for partition, offset in positions.items():
            self._ledger.found(partition, offset, before[partition])
        return positions

    def _commit(self, connection: Connection, positions: dict[int, int]) -> None:
        if not positions:
            return
        before = {partition: self._ledger.acked(partition) for partition in positions}
        of = OffsetCommitRequest.Topic.Partition
        partitions = [of(partition=p, offset=offset, metadata="") for p, offset in positions.items()]
        commit = OffsetCommitRequest(
            version=3,
            group_id=self._group,
            generation_id=self.generation,
            member_id=self._member_id,
            topics=[OffsetCommitRequest.Topic(topic=self._topic, partitions=partitions)],
        )
        errors = []
        for topic in self._call(connection, commit).get("responses"):
            for data in topic.get("partition_responses"):
                partition, code = data.get("partition"), data.get("error_code")
                if code == 0:
                    self._ledger.committed(partition, self.generation, positions[partition], before[partition])
                else:
                    errors.append(code)
        for code in errors:
            self._check(code)
