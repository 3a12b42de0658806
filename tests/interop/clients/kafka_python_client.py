"""kafka-python run through the steps of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import kafka
import kafka.errors
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as Partition

from tests.interop.clients.steps import (
    COOPERATIVE,
    RANGE,
    ROUND_ROBIN,
    STICKY,
    Client,
    Record,
    TopicPartition,
    Transactions,
    main,
)

ASSIGNORS = {
    RANGE: RangePartitionAssignor,
    ROUND_ROBIN: RoundRobinPartitionAssignor,
    STICKY: StickyPartitionAssignor,
    COOPERATIVE: CooperativeStickyAssignor,
}
TIMEOUT_S = 20


def offset_and_metadata(offset: int) -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, "", -1)


class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, events: list[tuple[str, frozenset[TopicPartition]]]) -> None:
        self._events = events

    def on_partitions_assigned(self, assigned: Iterable[Partition]) -> None:
        self._events.append(("assigned", frozenset(map(tuple, assigned))))

    def on_partitions_revoked(self, revoked: Iterable[Partition]) -> None:
        self._events.append(("revoked", frozenset(map(tuple, revoked))))


class KafkaPythonConsumer:
    def __init__(self, bootstrap: str, group: str, topics: list[str], **options: Any) -> None:
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []
        more = {"group_instance_id": options["instance_id"]} if "instance_id" in options else {}
        self.consumer = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[ASSIGNORS[options.get("assignor", RANGE)]],
            isolation_level="read_committed" if options.get("read_committed") else "read_uncommitted",
            heartbeat_interval_ms=300,
            session_timeout_ms=10000,
            fetch_max_wait_ms=100,
            **more,
        )
        self.consumer.subscribe(topics, listener=Listener(self.events))

    def poll(self, seconds: float) -> list[Record]:
        # a poll that ends while the member joins makes kafka-python join anew with the next one
        found = self.consumer.poll(int((max(seconds, 0.3) if self.consumer.assignment() else 1.5) * 1000))
        return [Record(r.topic, r.partition, r.offset, r.value) for records in found.values() for r in records]

    def assignment(self) -> set[TopicPartition]:
        return {(p.topic, p.partition) for p in self.consumer.assignment()}

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        if offsets is None:
            self.consumer.commit()
        else:
            self.consumer.commit({Partition(*p): offset_and_metadata(offset) for p, offset in offsets.items()})

    def commit_async(self, done: Callable[[object], None]) -> None:
        self.consumer.commit_async(callback=lambda _, answer: done(answer if isinstance(answer, Exception) else None))

    def committed(self, partition: TopicPartition) -> int | None:
        found: int | None = self.consumer.committed(Partition(*partition))
        return found

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.consumer.seek(Partition(*partition), offset)

    def pause(self, partition: TopicPartition) -> None:
        self.consumer.pause(Partition(*partition))

    def resume(self, partition: TopicPartition) -> None:
        self.consumer.resume(Partition(*partition))

    def close(self) -> None:
        self.consumer.close()


class KafkaPythonTransactions:
    def __init__(self, bootstrap: str, id: str) -> None:
        self._producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id=id)
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._producer.send(topic, value, partition=partition).get(TIMEOUT_S)

    def send_offsets(self, consumer: KafkaPythonConsumer, offsets: Mapping[TopicPartition, int]) -> None:
        wanted = {Partition(*p): offset_and_metadata(offset) for p, offset in offsets.items()}
        self._producer.send_offsets_to_transaction(wanted, consumer.consumer.group_metadata())

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=1)


class KafkaPythonClient:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        self._producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)

    def create_topic(self, name: str, partitions: int) -> None:
        wanted = {name: {"num_partitions": partitions, "replication_factor": 1}}
        self._admin.create_topics(wanted, wait_for_metadata=True)

    def produce(self, topic: str, partition: int, values: Iterable[bytes]) -> None:
        for sent in [self._producer.send(topic, value, partition=partition) for value in values]:
            sent.get(TIMEOUT_S)

    def consumer(self, group: str, topics: list[str], **options: Any) -> KafkaPythonConsumer:
        return KafkaPythonConsumer(self._bootstrap, group, topics, **options)

    def transactions(self, transactional_id: str) -> Transactions:
        return KafkaPythonTransactions(self._bootstrap, transactional_id)

    def is_fenced(self, error: Exception) -> bool:
        fenced = (kafka.errors.ProducerFencedError, kafka.errors.InvalidProducerEpochError)
        return isinstance(error, fenced) or isinstance(error.__cause__, fenced)

    def groups(self) -> set[str]:
        return {group["group_id"] for group in self._admin.list_groups()}

    def describe(self, group: str) -> tuple[str, int]:
        found = self._admin.describe_groups([group])[group]
        return found["group_state"].lower(), len(found["members"])

    def delete_group(self, group: str) -> None:
        found = self._admin.delete_groups([group])[group]
        if found != "OK":
            raise RuntimeError(found)

    def alter_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        found = self._admin.alter_group_offsets(group, {Partition(*partition): offset_and_metadata(offset)})
        assert set(found.values()) == {kafka.errors.NoError}, found

    def delete_offset(self, group: str, partition: TopicPartition) -> None:
        found = self._admin.delete_group_offsets(group, [Partition(*partition)])
        assert set(found.values()) == {kafka.errors.NoError}, found

    def offset_of(self, group: str, partition: TopicPartition) -> int | None:
        found = self._admin.list_group_offsets({group: [Partition(*partition)]})[group].get(Partition(*partition))
        return found.offset if found is not None and found.offset >= 0 else None

    def close(self) -> None:
        self._producer.close()
        self._admin.close()


def make(bootstrap: str) -> Client:
    return KafkaPythonClient(bootstrap)


if __name__ == "__main__":
    main(make)
