"""Three brokers with a replica each, a controller, and everything that may happen next.

The brokers are real: ReplicaManager, Partition, Replica, Log, LeaderEpochFileCache, ReplicaFetcherThread with its
decisions. What is between them is here: ZooKeeper is a dict with versions, the controller is a few lines, requests and
answers lie on the wire until a step takes them up. A schedule is a list of steps; the same schedule always leads to the
same state.

Steps, N being a broker:
  append N    a producer's batch with acks=all, to whoever thinks that it leads
  send N      N's fetcher goes on until it has sent its next request
  serve N     the broker that N follows answers it
  take N      the answer reaches N's fetcher, which may go on to its next request at once
  late N      a request arrives whose fetcher N has stopped meanwhile
  elect N     the controller makes N the leader; N is in the ISR, so the election is clean
  tell N      the oldest LeaderAndIsr that is on its way to N arrives
  crash N     N is gone, with the files as they are
  notice N    the controller sees that; what N led goes to another member of the ISR
  start N     N comes back, with the high watermark of its checkpoint
  pass        11 s go by: high watermarks are checkpointed, who has not fetched since counts as lagging
  shrink N    N takes those that lag out of its ISR
  cut N       N's next ISR does not reach ZooKeeper, and N does not know
  break N     N's next ISR reaches ZooKeeper, and N does not know

Not modelled: a power failure (files lose what was not synced), disks, unclean elections, reassignment, a second
controller, a Fetch that waits at the leader for more data, compaction.
"""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, cast

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.errors import (
    FencedLeaderEpochException,
    NotLeaderForPartitionException,
    UnknownLeaderEpochException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.zk.zk_data import TopicPartitionStateZNode
from tests.model.broker import TP, Broker, Entry, LostAnswer
from tests.server.replica_support import Answers, FakeZkClient

IDS = (1, 2, 3)
LAG_MS = 10_000
# how often each kind of step may come in one schedule; the others are bounded by these
LIMITS = {"append": 5, "elect": 4, "crash": 2, "pass": 2, "cut": 1, "break": 1}
_PATH = TopicPartitionStateZNode.path(TP)
_START_MS = 1_600_000_000_000


class NotPossible(Exception):
    """The step cannot happen in this state."""


class ThreeReplicas:
    """The whole state. `close` it."""

    def __init__(
        self,
        directory: pathlib.Path,
        limits: Mapping[str, int] | None = None,
        min_insync_replicas: int = 1,
        protocol: str = "2.5",
    ) -> None:
        self._directory = directory
        self._protocol = protocol
        self._props = {"min.insync.replicas": str(min_insync_replicas)}
        self._limits = {**LIMITS, **(limits or {})}
        self._used: collections.Counter[str] = collections.Counter()
        self._zk = FakeZkClient()
        self._now_ms = _START_MS
        self.brokers: dict[int, Broker | None] = {}
        self._left: dict[int, tuple[Entry, ...]] = {}  # logs of brokers that are down
        self._late_requests: dict[tuple[int, int], AbstractRequest] = {}
        self.queues: dict[int, list[LeaderAndIsrRequest.PartitionState]] = {i: [] for i in IDS}
        self._live = set(IDS)  # as the controller knows
        self._waiting: list[tuple[Answers, tuple[bytes, ...], int]] = []
        self.acked: dict[int, Entry] = {}
        for i in IDS:
            (directory / str(i)).mkdir()
            self.brokers[i] = self._new_broker(i)
        first = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 0, list(IDS), 0), 1)
        self._zk.versions[_PATH], self._zk.written[_PATH] = 0, TopicPartitionStateZNode.encode(first)
        for i in IDS:
            self._send_state(i)
            self._tell(i)

    def close(self) -> None:
        for broker in self.running.values():
            broker.crash()

    def _new_broker(self, i: int) -> Broker:
        return Broker(i, self._directory / str(i), self._zk, self._now_ms, self._protocol, self._props)

    # ---- what there is

    @property
    def running(self) -> dict[int, Broker]:
        return {i: broker for i, broker in self.brokers.items() if broker is not None}

    @property
    def state(self) -> LeaderAndIsr:
        """What ZooKeeper has."""
        found = self._zk.get_topic_partition_state(TP)
        assert found is not None
        return found.leader_and_isr

    def log(self, i: int) -> tuple[Entry, ...]:
        broker = self.brokers[i]
        return self._left[i] if broker is None else broker.entries()

    # ---- steps

    def possible(self) -> list[str]:
        """What may happen next."""
        steps: list[str] = []
        state = self.state
        for i in IDS:
            broker = self.brokers[i]
            if broker is None:
                steps += [f"notice {i}"] if i in self._live else []
                steps.append(f"start {i}")
                continue
            steps += [f"{kind} {i}" for kind in self._of_broker(i, broker, state)]
        steps += [f"late {i}" for i in IDS if any(who == i for who, _ in self._all_late())]
        steps.append("pass")
        return [step for step in steps if self._may(step.split()[0])]

    def _may(self, kind: str) -> bool:
        return self._used[kind] < self._limits.get(kind, 1000)

    def _of_broker(self, i: int, broker: Broker, state: LeaderAndIsr) -> list[str]:
        kinds = ["crash"]
        if self.queues[i]:
            kinds.append("tell")
        if broker.leads:
            kinds.append("append")
            kinds += ["cut", "break"] if not broker.zk.fault else []
            partition = broker.partition
            replica = partition.leader_replica_if_local
            if partition._isr_in_doubt or (replica and partition.get_out_of_sync_replicas(replica, LAG_MS)):
                kinds.append("shrink")
        fetcher = broker.fetcher
        if fetcher is not None:
            wire = fetcher.wire
            kinds.append("send" if wire.request is None else "take" if wire.is_answered else "serve")
        if i in state.isr and i in self._live and i != state.leader:
            kinds.append("elect")
        return kinds

    def step(self, step: str) -> None:
        """Do it; NotPossible."""
        kind, _, number = step.partition(" ")
        if step not in self.possible():
            raise NotPossible(step)
        self._used[kind] += 1
        if kind == "pass":
            self._pass()
        else:
            cast("Callable[[int], None]", getattr(self, f"_{kind}"))(int(number))
        self._look_at_acks()

    def _running(self, i: int) -> Broker:
        broker = self.brokers[i]
        assert broker is not None
        return broker

    def _pass(self) -> None:
        self._now_ms += 11_000
        for broker in self.running.values():
            broker.env.time.sleep(11_000)

    # -- producers

    def _append(self, i: int) -> None:
        n = self._used["append"]
        values = (b"%da" % n, b"%db" % n) if n % 2 == 0 else (b"%d" % n,)
        broker = self._running(i)
        self._waiting.append((broker.append(*values), values, broker.partition.get_leader_epoch))

    def _look_at_acks(self) -> None:
        """A record counts as acknowledged when its producer has been told so."""
        for waiting in list(self._waiting):
            answers, values, epoch = waiting
            if answers.produced:
                self._waiting.remove(waiting)
                response = answers.produce_response
                if response.error is Errors.NONE:
                    for offset, value in enumerate(values, response.base_offset):
                        self.acked[offset] = Entry(offset, epoch, value)

    # -- replication

    def _send(self, i: int) -> None:
        fetcher = self._running(i).fetcher
        assert fetcher is not None
        fetcher.fiber.resume()

    _take = _send

    def _serve(self, i: int) -> None:
        fetcher = self._running(i).fetcher
        assert fetcher is not None
        request = fetcher.wire.request
        assert request is not None
        fetcher.wire.arrives(self._answer(fetcher.source_broker.id, request))

    def _answer(self, leader: int, request: AbstractRequest) -> AbstractResponse | None:
        broker = self.brokers[leader]
        if broker is None:
            return None
        try:
            return broker.answer(request)
        except (LostAnswer, NotLeaderForPartitionException, FencedLeaderEpochException, UnknownLeaderEpochException):
            return None

    def _all_late(self) -> dict[tuple[int, int], AbstractRequest]:
        for i, broker in self.running.items():
            while broker.late:
                leader, request = broker.late.popitem()
                self._late_requests[i, leader] = request
        return {key: r for key, r in self._late_requests.items() if self.brokers[key[1]] is not None}

    def _late(self, i: int) -> None:
        for key, request in sorted(self._all_late().items(), key=lambda item: item[0]):
            if key[0] == i:
                del self._late_requests[key]
                self._answer(key[1], request)
                return

    # -- ISR

    def _shrink(self, i: int) -> None:
        try:
            self._running(i).partition.maybe_shrink_isr(LAG_MS)
        except LostAnswer:
            return

    def _cut(self, i: int) -> None:
        self._running(i).zk.fault = "cut"

    def _break(self, i: int) -> None:
        self._running(i).zk.fault = "break"

    # -- the controller

    def _write(self, new: LeaderAndIsr) -> None:
        data = TopicPartitionStateZNode.encode(LeaderIsrAndControllerEpoch(new, 1))
        written, _ = self._zk.conditional_update_path(_PATH, data, new.zk_version)
        assert written
        for i in IDS:
            self._send_state(i)

    def _send_state(self, i: int) -> None:
        if i in self._live:
            state = self.state
            self.queues[i].append(
                LeaderAndIsrRequest.PartitionState(
                    1, state.leader, state.leader_epoch, sorted(state.isr), state.zk_version, list(IDS), False
                )
            )

    def _tell(self, i: int) -> None:
        self._running(i).become(self.queues[i].pop(0))

    def _elect(self, i: int) -> None:
        self._write(self.state.new_leader(i))

    def _elect_offline(self) -> None:
        """A leader from the members of the ISR that are alive, if there is one."""
        state = self.state
        alive = [i for i in sorted(state.isr) if i in self._live]
        if state.leader not in self._live and alive:
            self._write(state.new_leader_and_isr(alive[0], alive))

    def _notice(self, i: int) -> None:
        self._live.discard(i)
        self._elect_offline()
        state = self.state
        if i in state.isr:
            leader = LeaderAndIsr.NO_LEADER if state.leader == i else state.leader
            isr = state.isr if len(state.isr) == 1 else [r for r in state.isr if r != i]
            self._write(state.new_leader_and_isr(leader, isr))

    def _crash(self, i: int) -> None:
        broker = self._running(i)
        self._all_late()
        self._left[i] = broker.entries()
        broker.crash()
        for leader, request in broker.late.items():
            self._late_requests[i, leader] = request
        self.brokers[i] = None
        self.queues[i].clear()
        for key in [key for key in self._late_requests if key[1] == i]:
            del self._late_requests[key]  # the connection went with the broker
        # a producer that waited there hears nothing any more
        self._waiting = [w for w in self._waiting if w[0] not in broker.appended]

    def _start(self, i: int) -> None:
        if i in self._live:
            self._notice(i)
        self._live.add(i)
        self.brokers[i] = self._new_broker(i)
        self._send_state(i)
        self._elect_offline()

    # ---- to tell states apart

    def fingerprint(self) -> int:
        """Equal for states from which the same may follow."""
        state = self.state
        return hash(
            (
                (state.leader, state.leader_epoch, tuple(sorted(state.isr))),
                tuple(self._of(i) for i in IDS),
                tuple(sorted(self._live)),
                tuple(sorted(self.acked.values())),
                tuple(sorted((kind, n) for kind, n in self._used.items() if kind in self._limits)),
                tuple(sorted((key, _request(r)) for key, r in self._all_late().items())),
                tuple((w[1], w[2]) for w in self._waiting),
            )
        )

    def _of(self, i: int) -> tuple[Any, ...]:
        broker = self.brokers[i]
        queue = tuple((s.leader, s.leader_epoch, tuple(s.isr)) for s in self.queues[i])
        if broker is None:
            return (self._left[i], queue)
        partition = broker.partition
        now = broker.env.time.milliseconds()
        others = tuple(
            (r.broker_id, r.log_end_offset.message_offset, now - r.last_caught_up_time_ms > LAG_MS)
            for r in sorted(partition.assigned_replicas(), key=lambda r: r.broker_id)
            if r.log is None
        )
        fetcher = broker.fetcher
        wire = None
        if fetcher is not None:
            fetch_state = fetcher.partition_states[TP]
            wire = (
                fetcher.source_broker.id,
                fetch_state.fetch_offset,
                fetch_state.truncating_log,
                _request(fetcher.wire.request),
                fetcher.wire.is_answered,
                _response(fetcher.wire.answer),
            )
        (checkpoint,) = broker.env.replica_manager.high_watermark_checkpoints.values()
        return (
            broker.entries(),
            broker.epochs(),
            broker.high_watermark,
            tuple(checkpoint.read().values()),
            partition.leader_replica_id_opt,
            partition.get_leader_epoch,
            partition._zk_version == self.state.zk_version,
            tuple(sorted(r.broker_id for r in partition.in_sync_replicas)),
            tuple(sorted(r.broker_id for r in partition._maybe_in_sync)),
            partition._isr_in_doubt,
            broker.zk.fault,
            others,
            wire,
            queue,
        )


def _request(request: AbstractRequest | None) -> str:
    if isinstance(request, OffsetsForLeaderEpochRequest):
        return f"epoch {request.epochs_by_topic_partition()}"
    return type(request).__name__


def _response(response: AbstractResponse | None) -> str:
    if isinstance(response, OffsetsForLeaderEpochResponse):
        return str(response.responses())
    if isinstance(response, FetchResponse):
        return "; ".join(
            f"{d.error.name} {d.high_watermark} {bytes(cast('MemoryRecords', d.records).buffer)!r}"
            for d in response.response_data().values()
        )
    return type(response).__name__
