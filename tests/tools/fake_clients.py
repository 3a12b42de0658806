"""Clients of librdkafka's form that know no broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import KafkaError, TopicPartition


class FakeMessage:
    """A record that was sent or received."""

    def __init__(
        self,
        value: bytes | None,
        key: bytes | None = None,
        offset: int = 0,
        partition: int = 0,
        error: KafkaError | None = None,
        latency_s: float = 0.0,
    ) -> None:
        self._of: dict[str, Any] = {
            "topic": "t",
            "value": value,
            "key": key,
            "offset": offset,
            "partition": partition,
            "error": error,
            "latency": latency_s,
        }

    def __len__(self) -> int:
        return len(self._of["value"] or b"")

    def __getattr__(self, name: str) -> Callable[[], Any]:
        value = self._of[name]
        return lambda: value


class FakeProducer:
    """Acknowledges with the next poll; its queue holds two records, some of which may fail."""

    def __init__(
        self, fail: Sequence[int] = (), error: int = KafkaError._MSG_TIMED_OUT, latency_s: float = 0.0
    ) -> None:
        self.sent: list[tuple[Any, Any, int]] = []
        self.calls: list[str] = []
        self._queue: list[tuple[Callable[..., None], FakeMessage, bool]] = []
        self._fail, self._error, self._latency_s = fail, error, latency_s

    def produce(self, topic: str, value: Any, key: Any = None, *, on_delivery: Any, timestamp: int = 0) -> None:
        if len(self._queue) == 2:
            raise BufferError
        failed = len(self.sent) in self._fail
        offset = len(self.sent)
        self.sent.append((key, value, timestamp))
        encoded = [
            None if text is None else text if isinstance(text, bytes) else text.encode() for text in (value, key)
        ]
        message = FakeMessage(encoded[0], encoded[1], offset, latency_s=self._latency_s)
        self._queue.append((on_delivery, message, failed))

    def poll(self, timeout: float) -> int:
        if timeout or len(self.sent) % 3 == 0:
            self._deliver()
        return 0

    def flush(self) -> int:
        self._deliver()
        self.calls.append("flush")
        return 0

    def _deliver(self) -> None:
        queue, self._queue = self._queue, []
        for on_delivery, message, failed in queue:
            on_delivery(KafkaError(self._error) if failed else None, message)

    def init_transactions(self) -> None:
        self.calls.append("init")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def commit_transaction(self) -> None:
        self._deliver()
        self.calls.append("commit")


class FakeConsumer:
    """Is assigned the partitions with the first poll, and hands out batches that were laid ready."""

    def __init__(self, *batches: Sequence[FakeMessage], on_empty: Callable[[], None] = lambda: None) -> None:
        self.batches = [list(batch) for batch in batches]
        self.partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
        self.committed: list[list[TopicPartition]] = []
        self.commit_error: Exception | None = None
        self.closed = False
        self._callbacks: dict[str, Any] = {}
        self._on_empty = on_empty

    def subscribe(self, topics: list[str], **callbacks: Any) -> None:
        assert topics == ["t"]
        self._callbacks = callbacks

    def _assign(self) -> None:
        assign = self._callbacks.pop("on_assign", None)
        if assign is not None:
            assign(self, self.partitions)

    def poll(self, timeout: float) -> FakeMessage | None:
        self._assign()
        if not self.batches:
            self._on_empty()
            return None
        return self.batches[0].pop(0)

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        self._assign()
        if not self.batches:
            self._on_empty()
            return []
        batch = self.batches.pop(0)
        assert len(batch) <= count
        return batch

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        assert not asynchronous
        if self.commit_error is not None:
            raise self.commit_error
        self.committed.append(offsets)
        return offsets

    def close(self) -> None:
        self._callbacks["on_revoke"](self, self.partitions)
        self.closed = True
