"""aiokafka run through the steps of the conformance suite; its loop runs on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

import aiokafka
import aiokafka.errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.interop.clients.steps import (
    COOPERATIVE,
    RANGE,
    ROUND_ROBIN,
    STICKY,
    Client,
    Record,
    Skipped,
    TopicPartition,
    Transactions,
    main,
)

T = TypeVar("T")
ASSIGNORS = {
    RANGE: RangePartitionAssignor,
    ROUND_ROBIN: RoundRobinPartitionAssignor,
    STICKY: StickyPartitionAssignor,
}
TIMEOUT_S = 25
_loop = asyncio.new_event_loop()


def run(what: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(what, _loop).result(TIMEOUT_S)


def partition_of(partition: TopicPartition) -> aiokafka.TopicPartition:
    return aiokafka.TopicPartition(*partition)


class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, events: list[tuple[str, frozenset[TopicPartition]]]) -> None:
        self._events = events

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._events.append(("assigned", frozenset(map(tuple, assigned))))  # type: ignore[arg-type]

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._events.append(("revoked", frozenset(map(tuple, revoked))))  # type: ignore[arg-type]


class AioConsumer:
    def __init__(self, bootstrap: str, group: str, topics: list[str], **options: Any) -> None:
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []
        assignor = options.get("assignor", RANGE)
        if assignor == COOPERATIVE:
            raise Skipped("aiokafka has no cooperative assignor")
        self.consumer: Any = None
        run(self._start(bootstrap, group, topics, ASSIGNORS[assignor], options))

    async def _start(
        self, bootstrap: str, group: str, topics: list[str], assignor: type, options: Mapping[str, Any]
    ) -> None:
        self.consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            group_instance_id=options.get("instance_id"),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[assignor],
            isolation_level="read_committed" if options.get("read_committed") else "read_uncommitted",
            heartbeat_interval_ms=300,
            session_timeout_ms=10000,
            fetch_max_wait_ms=100,
        )
        self.consumer.subscribe(topics, listener=Listener(self.events))
        # it waits for its first assignment, which the other members have to make room for
        await self.consumer.start()

    def poll(self, seconds: float) -> list[Record]:
        found = run(self.consumer.getmany(timeout_ms=int(seconds * 1000)))
        return [Record(r.topic, r.partition, r.offset, r.value) for records in found.values() for r in records]

    def assignment(self) -> set[TopicPartition]:
        return {(p.topic, p.partition) for p in self.consumer.assignment()}

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        run(self.consumer.commit({partition_of(p): o for p, o in offsets.items()} if offsets is not None else None))

    def commit_async(self, done: Callable[[object], None]) -> None:
        future = asyncio.run_coroutine_threadsafe(self.consumer.commit(), _loop)
        future.add_done_callback(lambda f: done(f.exception()))

    def committed(self, partition: TopicPartition) -> int | None:
        found: int | None = run(self.consumer.committed(partition_of(partition)))
        return found

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.consumer.seek(partition_of(partition), offset)

    def pause(self, partition: TopicPartition) -> None:
        run(self._on_the_loop(self.consumer.pause, partition))

    def resume(self, partition: TopicPartition) -> None:
        run(self._on_the_loop(self.consumer.resume, partition))

    async def _on_the_loop(
        self, method: Callable[[aiokafka.TopicPartition], object], partition: TopicPartition
    ) -> None:
        method(partition_of(partition))

    def close(self) -> None:
        run(self.consumer.stop())


class AioTransactions:
    def __init__(self, bootstrap: str, id: str) -> None:
        self._producer: Any = None
        run(self._start(bootstrap, id))

    async def _start(self, bootstrap: str, id: str) -> None:
        self._producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=id)
        await self._producer.start()

    def begin(self) -> None:
        run(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, value: bytes) -> None:
        run(self._producer.send_and_wait(topic, value, partition=partition))

    def send_offsets(self, consumer: AioConsumer, offsets: Mapping[TopicPartition, int]) -> None:
        wanted = {partition_of(p): offset for p, offset in offsets.items()}
        run(self._producer.send_offsets_to_transaction(wanted, consumer.consumer._group_id))

    def commit(self) -> None:
        run(self._producer.commit_transaction())

    def abort(self) -> None:
        run(self._producer.abort_transaction())

    def close(self) -> None:
        run(self._producer.stop())


class AioClient:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin: Any = None
        self._producer: Any = None
        run(self._start())

    async def _start(self) -> None:
        self._admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await self._admin.start()
        self._producer = aiokafka.AIOKafkaProducer(bootstrap_servers=self._bootstrap, enable_idempotence=True)
        await self._producer.start()

    def create_topic(self, name: str, partitions: int) -> None:
        run(self._admin.create_topics([NewTopic(name, partitions, 1)]))

    def produce(self, topic: str, partition: int, values: Iterable[bytes]) -> None:
        async def send() -> None:
            for sent in [await self._producer.send(topic, value, partition=partition) for value in values]:
                await sent

        run(send())

    def consumer(self, group: str, topics: list[str], **options: Any) -> AioConsumer:
        return AioConsumer(self._bootstrap, group, topics, **options)

    def transactions(self, transactional_id: str) -> Transactions:
        return AioTransactions(self._bootstrap, transactional_id)

    def is_fenced(self, error: Exception) -> bool:
        return isinstance(error, (aiokafka.errors.ProducerFenced, aiokafka.errors.InvalidProducerEpoch))

    def groups(self) -> set[str]:
        return {group[0] for group in run(self._admin.list_consumer_groups())}

    def describe(self, group: str) -> tuple[str, int]:
        (answer,) = run(self._admin.describe_consumer_groups([group]))
        ((_, _, state, _, _, members, *_),) = answer.groups
        return state.lower(), len(members)

    def delete_group(self, group: str) -> None:
        raise Skipped("aiokafka's admin client cannot delete a group")

    def alter_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        raise Skipped("aiokafka's admin client cannot alter offsets")

    def delete_offset(self, group: str, partition: TopicPartition) -> None:
        raise Skipped("aiokafka's admin client cannot delete offsets")

    def offset_of(self, group: str, partition: TopicPartition) -> int | None:
        wanted = partition_of(partition)
        found = run(self._admin.list_consumer_group_offsets(group, partitions=[wanted])).get(wanted)
        return found.offset if found is not None and found.offset >= 0 else None

    def close(self) -> None:
        run(self._producer.stop())
        run(self._admin.close())
        _loop.call_soon_threadsafe(_loop.stop)


def make(bootstrap: str) -> Client:
    threading.Thread(target=_loop.run_forever, name="aiokafka", daemon=True).start()
    return AioClient(bootstrap)


if __name__ == "__main__":
    main(make)
