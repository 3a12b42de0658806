"""Transactions of the sink: every task writes in one of its own, and the driver ends them all.

What makes the rows of a micro-batch appear exactly once is one record that the driver writes between the two: the
**decision**. It says of which batch of which query the transactions are committed, and which these are, and it is the
committed offset (the batch's number) of a group with the text beside it. Before the decision a batch that is run again
is written again, and what the first run wrote is aborted, because each task's new producer fences the old one. After
the decision a batch that is run again writes nothing; the driver only ends the transactions that the decision names.

Read next: sink.py, whose writers use it; producer.py, which writes within a transaction
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_py.common.errors import (
    ApiException,
    InvalidPidMappingException,
    InvalidTxnStateException,
    ProducerFencedException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kafka_py.common.requests.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.requests.end_txn_response import EndTxnResponse
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.broker_client import BrokerClient, ClientSettings
from kafka_py.spark.coordinator_client import CoordinatorClient, CoordinatorType

# As long as brokers allow if nobody says otherwise: a transaction lives from a task's first record to the driver's end.
DEFAULT_TRANSACTION_TIMEOUT_MS = 900_000
# The text beside a committed offset: offset.metadata.max.bytes is 4096 if nobody says otherwise.
_LONGEST_TEXT = 4000
_ID_AND_EPOCH = struct.Struct(">qh")
ENDED_OTHERWISE = (ProducerFencedException, InvalidTxnStateException, InvalidPidMappingException)


class TransactionSettings(NamedTuple):
    """``kafka.transactional.id``, which the transactional ids of all tasks begin with, and how long to wait; in ms."""

    id_prefix: str
    timeout_ms: int = DEFAULT_TRANSACTION_TIMEOUT_MS
    max_block_ms: int = 60_000

    def id_of(self, task: int) -> str:
        """The transactional id of a task: the same in each batch, so that a new run fences the one before."""
        return f"{self.id_prefix}-{task}"

    @property
    def group(self) -> str:
        """Whose committed offsets hold the decision."""
        return self.id_prefix


class OpenTransaction(NamedTuple):
    """A transaction that a task has left for the driver to end."""

    task: int
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...] = ()


class Decision(NamedTuple):
    """These transactions of this batch of this query are committed, whoever may have to do it."""

    query: str
    batch: int
    transactions: tuple[OpenTransaction, ...]

    def texts(self) -> list[str]:
        """As text, cut where it is too long for one committed offset: ``1/2 <query> <the first half>``."""
        packed = b"".join(struct.pack(">i", t.task) + _ID_AND_EPOCH.pack(*t[1:3]) for t in self.transactions)
        text = base64.b64encode(packed).decode()
        pieces = [text[at : at + _LONGEST_TEXT] for at in range(0, len(text), _LONGEST_TEXT)] or [""]
        return [f"{number}/{len(pieces)} {self.query} {piece}" for number, piece in enumerate(pieces, 1)]

    @classmethod
    def of(cls, batch: int, texts: Iterable[str]) -> Decision:
        """From its texts, in any order. Raises ValueError for anything else."""
        pieces: dict[int, str] = {}
        query, expected = "", 0
        for text in texts:
            place, query, piece = text.split(" ")
            number, _, count = place.partition("/")
            pieces[int(number)], expected = piece, int(count)
        if len(pieces) != expected:
            raise ValueError(f"Of the decision about batch {batch} there are {len(pieces)} of {expected} pieces")
        packed = base64.b64decode("".join(pieces[number] for number in sorted(pieces)), validate=True)
        found = struct.iter_unpack(">iqh", packed)
        return cls(query, batch, tuple(OpenTransaction(*one) for one in found))


class TransactionClient:
    """Begins and ends transactions, and keeps the decision.

    Thread: the one that made it
    """

    def __init__(
        self, settings: TransactionSettings, client: ClientSettings | BrokerClient, time: Time = Time.SYSTEM
    ) -> None:
        self._settings = settings
        self._coordinators = CoordinatorClient(client, settings.max_block_ms, time)

    def close(self) -> None:
        """Close all connections."""
        self._coordinators.close()

    # ---- a task's transaction

    def begin(self, task: int) -> OpenTransaction:
        """A producer for the task. Whoever had its transactional id before is fenced, and what was open is aborted."""
        transactional_id = self._settings.id_of(task)
        request = InitProducerIdRequest.Builder(transactional_id, self._settings.timeout_ms)

        def ask() -> OpenTransaction:
            response = self._coordinators.ask(CoordinatorType.TRANSACTION, transactional_id, request)
            assert isinstance(response, InitProducerIdResponse)
            response.error().maybe_throw()
            return OpenTransaction(task, response.producer_id, response.producer_epoch)

        return self._coordinators.until_it_passes(ask)

    def add_partitions(self, transaction: OpenTransaction, partitions: Iterable[TopicPartition]) -> None:
        """Partitions that the transaction is about to write to; ProducerFencedException if it is not open any more."""
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(partitions):
            by_topic.setdefault(topic, []).append(partition)
        topics = [AddPartitionsToTxnRequest.Topic(topic=name, partitions=list(p)) for name, p in by_topic.items()]
        transactional_id = self._settings.id_of(transaction.task)
        request = AddPartitionsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            topics=topics,
        )
        builder = AddPartitionsToTxnRequest.Builder(request)

        def ask() -> None:
            response = self._coordinators.ask(CoordinatorType.TRANSACTION, transactional_id, builder)
            assert isinstance(response, AddPartitionsToTxnResponse)
            failed = [part.error for topic in response.errors for part in topic.partition_errors if part.error_code]
            # the others were not attempted because of one of them
            for error in sorted(failed, key=lambda error: error is Errors.OPERATION_NOT_ATTEMPTED):
                error.maybe_throw()

        self._coordinators.until_it_passes(ask)

    def end(self, transaction: OpenTransaction, commit: bool) -> None:
        """Commit or abort; done already is as good. Raises ProducerFencedException, InvalidTxnStateException or
        InvalidPidMappingException for one that has ended otherwise."""
        transactional_id = self._settings.id_of(transaction.task)
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            transaction_result=commit,
        )
        builder = RequestMessage.Builder(request)

        def ask() -> None:
            response = self._coordinators.ask(CoordinatorType.TRANSACTION, transactional_id, builder)
            assert isinstance(response, EndTxnResponse)
            response.error().maybe_throw()

        self._coordinators.until_it_passes(ask)

    # ---- the decision

    def decided(self, query: str) -> Decision | None:
        """What was decided last for this query; None where nothing was, or for another query of the same name."""
        committed = self._coordinators.committed(self._settings.group).values()
        newest = max((entry.offset for entry in committed), default=-1)
        texts = [entry.text for entry in committed if entry.offset == newest]
        of_query = [text for text in texts if text.split(" ")[1:2] == [query]]
        return Decision.of(newest, of_query) if of_query else None

    def decide(self, decision: Decision, places: Sequence[TopicPartition]) -> None:
        """Write the decision down, as offsets of these partitions; ValueError if they are too few for it.

        All its pieces are in one batch of records: there is the whole of it or nothing.
        """
        texts = decision.texts()
        if len(texts) > len(places):
            raise ValueError(
                f"{len(decision.transactions)} tasks with transactions are too many for topics of {len(places)} "
                "partitions: write with fewer tasks (coalesce)"
            )
        topics: dict[str, list[OffsetCommitRequest.Topic.Partition]] = {}
        for (topic, partition), text in zip(places, texts, strict=False):
            entry = OffsetCommitRequest.Topic.Partition(partition=partition, offset=decision.batch, metadata=text)
            topics.setdefault(topic, []).append(entry)
        request = OffsetCommitRequest(
            group_id=self._settings.group,
            topics=[OffsetCommitRequest.Topic(topic=name, partitions=found) for name, found in topics.items()],
        )
        builder = RequestMessage.Builder(request)

        def ask() -> None:
            response = self._coordinators.ask(CoordinatorType.GROUP, self._settings.group, builder)
            assert isinstance(response, OffsetCommitResponse)
            for topic in response.responses:
                for entry in topic.partition_responses:
                    entry.error.maybe_throw()

        self._coordinators.until_it_passes(ask)

    def commit_all(self, decision: Decision) -> None:
        """End all transactions of a decision. Raises TransactionLostError for one that was aborted all the same."""
        for transaction in decision.transactions:
            try:
                self.end(transaction, True)
            except ENDED_OTHERWISE as e:
                raise TransactionLostError(
                    f"Batch {decision.batch} was to be committed, but the transaction of task {transaction.task} "
                    f"({self._settings.id_of(transaction.task)}) had been aborted: {e}. Its records are not in the "
                    "topic; was kafka.transaction.timeout.ms shorter than the query stood still?"
                ) from e


class TaskTransaction:
    """The transaction of one task, for its producer; the driver ends it.

    Thread: the task's
    """

    def __init__(self, client: TransactionClient, task: int, transactional_id: str) -> None:
        """Fences whoever had the transactional id before: the last run of the same task, say."""
        self._client = client
        self._partitions: set[TopicPartition] = set()
        self.transactional_id = transactional_id
        self._begun = client.begin(task)

    @property
    def producer_id_and_epoch(self) -> tuple[int, int]:
        """Whom its batches are from."""
        return self._begun.producer_id, self._begun.producer_epoch

    def require(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions that are written to next belong to it from now on. Raises ProducerFencedException."""
        new = set(partitions) - self._partitions
        if new:
            self._client.add_partitions(self._begun, new)
            self._partitions.update(new)

    def left_open(self) -> OpenTransaction | None:
        """What there is to end; None if nothing was written."""
        return self._begun._replace(partitions=tuple(sorted(self._partitions))) if self._partitions else None


class TransactionLostError(ApiException):
    """Records of a batch that was decided upon were aborted: only a person can say what is to become of it."""


def places_for(offsets: Iterable[Mapping[str, Mapping[int, object]]]) -> list[TopicPartition]:
    """Where a decision may be written down: the partitions that the batch wrote to, in order."""
    return sorted({TopicPartition(topic, p) for told in offsets for topic, parts in told.items() for p in parts})
