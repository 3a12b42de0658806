"""confluent-kafka, which is librdkafka, run through the steps of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import confluent_kafka as ck
from confluent_kafka import admin
from confluent_kafka.cimpl import NewTopic

from tests.interop.clients.steps import RANGE, STICKY, Client, Record, Skipped, TopicPartition, Transactions, main

TIMEOUT_S = 20.0


class ConfluentConsumer:
    def __init__(self, bootstrap: str, group: str, topics: list[str], **options: Any) -> None:
        assignor = options.get("assignor", RANGE)
        if assignor == STICKY:
            raise Skipped("librdkafka has no eager sticky assignor")
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []
        self._done: list[Callable[[object], None]] = []
        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "partition.assignment.strategy": assignor,
            "isolation.level": "read_committed" if options.get("read_committed") else "read_uncommitted",
            "heartbeat.interval.ms": 300,
            "session.timeout.ms": 10000,
            "fetch.wait.max.ms": 100,
            "on_commit": self._on_commit,
        }
        if "instance_id" in options:
            config["group.instance.id"] = options["instance_id"]
        self.consumer = ck.Consumer(config)
        self.consumer.subscribe(topics, on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        self.events.append(("assigned", frozenset((p.topic, p.partition) for p in partitions)))

    def _on_revoke(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        self.events.append(("revoked", frozenset((p.topic, p.partition) for p in partitions)))

    def _on_commit(self, error: object, _: list[ck.TopicPartition]) -> None:
        while self._done:
            self._done.pop()(error)

    def poll(self, seconds: float) -> list[Record]:
        found = []
        for message in self.consumer.consume(100, seconds):
            error = message.error()
            if error and error.code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
                continue  # asked of a broker that has not heard of the new topic yet; it asks again by itself
            if error:
                raise ck.KafkaException(error)
            told = (message.topic(), message.partition(), message.offset(), message.value())
            found.append(Record(*cast("tuple[str, int, int, bytes]", told)))
        return found

    def assignment(self) -> set[TopicPartition]:
        return {(p.topic, p.partition) for p in self.consumer.assignment()}

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        if offsets is None:
            self.consumer.commit(asynchronous=False)
        else:
            wanted = [ck.TopicPartition(*partition, offset) for partition, offset in offsets.items()]
            self.consumer.commit(offsets=wanted, asynchronous=False)

    def commit_async(self, done: Callable[[object], None]) -> None:
        self._done.append(done)
        self.consumer.commit(asynchronous=True)

    def committed(self, partition: TopicPartition) -> int | None:
        (found,) = self.consumer.committed([ck.TopicPartition(*partition)], timeout=TIMEOUT_S)
        return found.offset if found.offset >= 0 else None

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.consumer.seek(ck.TopicPartition(*partition, offset))

    def pause(self, partition: TopicPartition) -> None:
        self.consumer.pause([ck.TopicPartition(*partition)])

    def resume(self, partition: TopicPartition) -> None:
        self.consumer.resume([ck.TopicPartition(*partition)])

    def close(self) -> None:
        self.consumer.close()


class ConfluentTransactions:
    def __init__(self, bootstrap: str, id: str) -> None:
        self._producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": id, "linger.ms": 0})
        self._producer.init_transactions(TIMEOUT_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._producer.produce(topic, value, partition=partition)
        self._producer.flush(TIMEOUT_S)

    def send_offsets(self, consumer: ConfluentConsumer, offsets: Mapping[TopicPartition, int]) -> None:
        wanted = [ck.TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        self._producer.send_offsets_to_transaction(wanted, consumer.consumer.consumer_group_metadata(), TIMEOUT_S)

    def commit(self) -> None:
        self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(TIMEOUT_S)

    def close(self) -> None:
        self._producer.flush(0)


class ConfluentClient:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = admin.AdminClient({"bootstrap.servers": bootstrap})
        self._producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True})

    def create_topic(self, name: str, partitions: int) -> None:
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(TIMEOUT_S)

    def produce(self, topic: str, partition: int, values: Iterable[bytes]) -> None:
        for value in values:
            self._producer.produce(topic, value, partition=partition)
        assert self._producer.flush(TIMEOUT_S) == 0

    def consumer(self, group: str, topics: list[str], **options: Any) -> ConfluentConsumer:
        return ConfluentConsumer(self._bootstrap, group, topics, **options)

    def transactions(self, transactional_id: str) -> Transactions:
        return ConfluentTransactions(self._bootstrap, transactional_id)

    def is_fenced(self, error: Exception) -> bool:
        return isinstance(error, ck.KafkaException) and error.args[0].code() in (
            ck.KafkaError._FENCED,
            ck.KafkaError.INVALID_PRODUCER_EPOCH,
        )

    def groups(self) -> set[str]:
        found = self._admin.list_consumer_groups().result(TIMEOUT_S)
        assert not found.errors, found.errors
        return {group.group_id for group in found.valid}

    def describe(self, group: str) -> tuple[str, int]:
        found = self._admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
        return found.state.name.lower(), len(found.members)

    def delete_group(self, group: str) -> None:
        self._admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)

    def alter_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        wanted = ck.ConsumerGroupTopicPartitions(group, [ck.TopicPartition(*partition, offset)])
        self._admin.alter_consumer_group_offsets([wanted])[group].result(TIMEOUT_S)

    def delete_offset(self, group: str, partition: TopicPartition) -> None:
        raise Skipped("confluent-kafka does not offer librdkafka's DeleteConsumerGroupOffsets")

    def offset_of(self, group: str, partition: TopicPartition) -> int | None:
        wanted = ck.ConsumerGroupTopicPartitions(group, [ck.TopicPartition(*partition)])
        (found,) = self._admin.list_consumer_group_offsets([wanted])[group].result(TIMEOUT_S).topic_partitions
        return found.offset if found.offset >= 0 else None

    def close(self) -> None:
        self._producer.flush(0)


def make(bootstrap: str) -> Client:
    return ConfluentClient(bootstrap)


if __name__ == "__main__":
    main(make)
