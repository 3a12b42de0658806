"""Transactions of the sink: every task writes in one of its own, and the driver ends them all.

What makes the rows of a micro-batch appear exactly once is one record that the driver writes between the two: the
**decision**. It says of which batch of which query the transactions are committed, and which these are, and it is the
committed offset (the batch's number) of a group with the text beside it. Before the decision a batch that is run again
is written again, and what the first run wrote is aborted, because each task's new producer fences the old one. After
the decision a batch that is run again writes nothing; the driver only ends the transactions that the decision names.

In between there is nothing, because the decision is a transaction, too, the driver's. Its offsets are noted first, then
the driver looks whether all tasks' transactions are open, and then it ends its own. Who finds a decision that is noted
and not ended waits for its driver, and fences it if that is gone: so either the decision comes to stand before a task
begins anew, or never.

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
    UnstableOffsetCommitException,
    UnsupportedVersionException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kafka_py.common.requests.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from kafka_py.common.requests.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kafka_py.common.requests.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.requests.end_txn_response import EndTxnResponse
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.txn_offset_commit_request import TxnOffsetCommitRequest
from kafka_py.common.requests.txn_offset_commit_response import TxnOffsetCommitResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.broker_client import BrokerClient, ClientSettings
from kafka_py.spark.coordinator_client import Committed, CoordinatorClient, CoordinatorType

# As long as brokers allow if nobody says otherwise: a transaction lives from a task's first record to the driver's end.
DEFAULT_TRANSACTION_TIMEOUT_MS = 900_000
# The text beside a committed offset: offset.metadata.max.bytes is 4096 if nobody says otherwise.
_LONGEST_TEXT = 4000
# How long a driver may take to end a decision that it has noted, before it counts as dead.
_UNTIL_FENCED_MS = 1000
# How long the group's coordinator may take to carry out a marker that it has written: it does so on another thread.
_UNTIL_CARRIED_OUT_MS = 200
DRIVER = -1  # in the place of a task
_ID_AND_EPOCH = struct.Struct(">qh")
ENDED_OTHERWISE = (ProducerFencedException, InvalidTxnStateException, InvalidPidMappingException)


class TransactionSettings(NamedTuple):
    """``kafka.transactional.id``, which the transactional ids of all tasks begin with, and how long to wait; in ms."""

    id_prefix: str
    timeout_ms: int = DEFAULT_TRANSACTION_TIMEOUT_MS
    max_block_ms: int = 60_000

    def id_of(self, task: int) -> str:
        """The transactional id of a task, or of DRIVER: the same in each batch, so that a new run fences the one
        before."""
        return f"{self.id_prefix}-{'driver' if task == DRIVER else task}"

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
        self._time = time
        self._driver: OpenTransaction | None = None  # thread: of its owner

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

    def fence(self) -> OpenTransaction:
        """Be the driver from now on: what an older one has noted is aborted, or stands; nothing is on its way."""
        self._driver = self.begin(DRIVER)
        return self._driver

    def decided(self, query: str) -> Decision | None:
        """What was decided last for this query, whatever others did under its name; None where nothing was."""
        of_query = [entry for entry in self._settled().values() if entry.text.split(" ")[1:2] == [query]]
        newest = max((entry.offset for entry in of_query), default=-1)
        texts = [entry.text for entry in of_query if entry.offset == newest]
        return Decision.of(newest, texts) if texts else None

    def _settled(self) -> dict[TopicPartition, Committed]:
        """All that the group has committed, with no decision under way that could still come to stand.

        Brokers older than 2.5 do not tell of one that is, and none tells of one where nothing stands yet.
        """
        group = self._settings.group
        unstable_ms = None if self._driver is not None else _UNTIL_FENCED_MS
        try:
            found = self._coordinators.committed(group, True, unstable_ms)
            if found or self._driver is not None:
                return found
        except UnstableOffsetCommitException:
            if self._driver is not None:
                raise
        except UnsupportedVersionException:
            self._fence_and_wait()
            return self._coordinators.committed(group)
        self._fence_and_wait()
        return self._coordinators.committed(group, True)

    def _fence_and_wait(self) -> None:
        if self._driver is None:
            self.fence()
            self._time.sleep(_UNTIL_CARRIED_OUT_MS)

    def decide(self, decision: Decision, places: Sequence[TopicPartition]) -> None:
        """Write the decision down, as offsets of these partitions; ValueError if they are too few for it.

        There is the whole of it or nothing. Raises ProducerFencedException if a task's transaction is not open any
        more, or somebody else is the driver: then nothing is decided.
        """
        driver = self._driver or self.fence()
        self.note(driver, decision, places)
        for transaction in decision.transactions:
            self.add_partitions(transaction, transaction.partitions)  # they are in it: is it still open?
        self.end(driver, True)

    def note(self, driver: OpenTransaction, decision: Decision, places: Iterable[TopicPartition]) -> None:
        """Add the decision to the driver's transaction. It stands where one stood before, too, so that readers of
        what stands there hear of it."""
        stood = self._coordinators.committed(self._settings.group)
        ordered = sorted({*places, *stood}, key=lambda place: (place not in stood, place))
        texts = decision.texts()
        if len(texts) > len(ordered):
            raise ValueError(
                f"{len(decision.transactions)} tasks with transactions are too many for topics of {len(ordered)} "
                "partitions: write with fewer tasks (coalesce)"
            )
        self._add_offsets(driver)
        topics: dict[str, list[TxnOffsetCommitRequest.Topic.Partition]] = {}
        for (topic, partition), text in zip(ordered, texts, strict=False):
            entry = TxnOffsetCommitRequest.Topic.Partition(partition=partition, offset=decision.batch, metadata=text)
            topics.setdefault(topic, []).append(entry)
        self._commit_offsets(driver, topics)

    def _add_offsets(self, driver: OpenTransaction) -> None:
        transactional_id = self._settings.id_of(DRIVER)
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=driver.producer_id,
            producer_epoch=driver.producer_epoch,
            group_id=self._settings.group,
        )
        builder = RequestMessage.Builder(request)

        def ask() -> None:
            response = self._coordinators.ask(CoordinatorType.TRANSACTION, transactional_id, builder)
            assert isinstance(response, AddOffsetsToTxnResponse)
            response.error().maybe_throw()

        self._coordinators.until_it_passes(ask)

    def _commit_offsets(
        self, driver: OpenTransaction, topics: Mapping[str, list[TxnOffsetCommitRequest.Topic.Partition]]
    ) -> None:
        request = TxnOffsetCommitRequest(
            transactional_id=self._settings.id_of(DRIVER),
            group_id=self._settings.group,
            producer_id=driver.producer_id,
            producer_epoch=driver.producer_epoch,
            topics=[TxnOffsetCommitRequest.Topic(topic=name, partitions=found) for name, found in topics.items()],
        )
        builder = RequestMessage.Builder(request)

        def ask() -> None:
            response = self._coordinators.ask(CoordinatorType.GROUP, self._settings.group, builder)
            assert isinstance(response, TxnOffsetCommitResponse)
            for topic in response.topics:
                for entry in topic.partitions:
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
