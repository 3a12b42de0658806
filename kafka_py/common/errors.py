"""Every exception the broker raises or puts on the wire, under its Kafka name.

Mirrors: clients/src/main/java/org/apache/kafka/common/errors/ (one Java file per class there), KafkaException.java,
         config/ConfigException.java, metrics/QuotaViolationException.java, protocol/types/SchemaException.java,
         network/InvalidReceiveException.java, record/InvalidRecordException.java,
         core/src/main/scala/kafka/common/*Exception.scala and kafka/log/Corrupt*Exception.scala @ 1.1.1
Read next: common/protocol/errors.py, which ties the classes to their wire codes

Where Kafka has a class of one name both in kafka.common and in org.apache.kafka.common.errors, there is one class here,
the public one. A cause may be given as second argument as in Java; ``raise X(message) from e`` does the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition


class RuntimeException(RuntimeError):
    """Unchecked Java exception: a message and a cause, both optional."""

    def __init__(self, message: str | None = None, cause: BaseException | None = None) -> None:
        if message is None and cause is not None:
            message = str(cause)
        if message is None:
            super().__init__()
        else:
            super().__init__(message)
        if cause is not None:
            self.__cause__ = cause


class IllegalStateException(RuntimeException):
    """The program is in a state that should be impossible."""


class IllegalArgumentException(ValueError):
    """An argument that the callee can never accept; plain ValueError is caught and raised alike."""


class UnsupportedOperationException(RuntimeException):
    """The object does not offer the operation."""


class ClosedChannelException(OSError):
    """Input or output on a channel that is closed."""


# ---- Roots


class KafkaException(RuntimeException):
    """Root of all other Kafka exceptions."""


class ApiException(KafkaException):
    """An error that is part of the protocol: it has a code and may be sent to a client."""


class RetriableException(ApiException):
    """A passing error: the same request may succeed when sent again."""


class InvalidMetadataException(RetriableException):
    """The client's view of the cluster is stale: refresh it and send again."""


class AuthenticationException(ApiException):
    """The peer could not prove who it is."""


class AuthorizationException(ApiException):
    """The principal may not do what it asked for."""


class InvalidOffsetException(ApiException):
    """An offset that does not fit: out of range, or not beyond the last one of an index."""


# ---- Topics, partitions, metadata


class BrokerNotAvailableException(ApiException):
    """The broker is not alive."""


class ControllerMovedException(ApiException):
    """The request comes from a controller whose epoch is over."""


class InvalidPartitionsException(ApiException):
    """A partition count that is not allowed."""


class InvalidReplicaAssignmentException(ApiException):
    """A replica assignment that is incomplete, doubled or names unknown brokers."""


class InvalidReplicationFactorException(ApiException):
    """A replication factor below one or above the number of brokers."""


class InvalidTopicException(ApiException):
    """A topic name that is illegal, or an internal topic where none may be named."""


class LeaderNotAvailableException(InvalidMetadataException):
    """The partition has no leader at the moment."""


class ListenerNotFoundException(InvalidMetadataException):
    """The leader has no listener of the name that the request came in on."""


class LogDirNotFoundException(ApiException):
    """The log directory is not one of the broker's."""


class NetworkException(InvalidMetadataException):
    """The connection broke before the response arrived."""


class NotControllerException(RetriableException):
    """This broker is not the controller."""


class NotLeaderForPartitionException(InvalidMetadataException):
    """This broker does not lead the partition."""


class ReassignmentInProgressException(ApiException):
    """A reassignment of partitions is already running."""


class ReplicaNotAvailableException(ApiException):
    """The replica is not on this broker."""


class TopicDeletionDisabledException(ApiException):
    """delete.topic.enable is off."""


class TopicExistsException(ApiException):
    """A topic of this name exists."""


class UnknownTopicOrPartitionException(InvalidMetadataException):
    """This broker does not host the partition, or nobody does."""


class FencedLeaderEpochException(InvalidMetadataException):
    """The request carries an older leader epoch than the broker's."""


class UnknownLeaderEpochException(InvalidMetadataException):
    """The request carries a newer leader epoch than the broker's."""


class StaleBrokerEpochException(ApiException):
    """The request was meant for an earlier registration of this broker."""


class PreferredLeaderNotAvailableException(InvalidMetadataException):
    """The first replica of the assignment cannot lead."""


class EligibleLeadersNotAvailableException(InvalidMetadataException):
    """No replica that may lead is alive."""


class ElectionNotNeededException(InvalidMetadataException):
    """The partition already has the leader it should have."""


class NoReassignmentInProgressException(ApiException):
    """There is no reassignment to cancel."""


# ---- Produce and fetch


class CorruptRecordException(RetriableException):
    """A record or batch fails its checksum or contradicts itself."""


class InvalidRecordException(CorruptRecordException):
    """A record or batch breaks a rule of the format."""


class DuplicateSequenceException(ApiException):
    """The batch's sequence numbers were appended before."""


class FetchSessionIdNotFoundException(RetriableException):
    """The fetch session is gone from the cache."""


class InvalidFetchSessionEpochException(RetriableException):
    """The epoch is not the next one of the fetch session."""


class InvalidFetchSizeException(ApiException):
    """A fetch size below zero."""


class InvalidRequiredAcksException(ApiException):
    """acks other than -1, 0 or 1."""


class InvalidTimestampException(ApiException):
    """A record's timestamp is too far from the broker's clock."""


class KafkaStorageException(InvalidMetadataException):
    """The log directory of the partition failed and is offline."""


class NotEnoughReplicasException(RetriableException):
    """Fewer in-sync replicas than min.insync.replicas: nothing was appended."""


class NotEnoughReplicasAfterAppendException(RetriableException):
    """The in-sync replicas became too few after the append."""


class OffsetNotAvailableException(RetriableException):
    """A new leader's high watermark has not caught up yet."""


class UnstableOffsetCommitException(RetriableException):
    """A commit for the partition is under way, or waits for its transaction."""


class OffsetOutOfRangeException(InvalidOffsetException):
    """The log does not hold the offset."""


class OutOfOrderSequenceException(ApiException):
    """The batch's first sequence number is not the next one."""


class RecordBatchTooLargeException(ApiException):
    """A batch that is larger than a segment may be."""


class TimeoutException(RetriableException):
    """The request was not satisfied in the time it allowed."""


class UnknownProducerIdException(OutOfOrderSequenceException):
    """The broker holds no state of the producer id."""


class UnknownServerException(ApiException):
    """An error of the broker that no other code describes."""


class UnsupportedCompressionTypeException(ApiException):
    """The request's version predates the codec."""


class UnsupportedForMessageFormatException(ApiException):
    """The log's message format cannot hold or answer what is asked."""


# ---- Groups


class CoordinatorLoadInProgressException(RetriableException):
    """The coordinator is still reading its partition."""


class CoordinatorNotAvailableException(RetriableException):
    """The coordinator is not there yet, or not there any more."""


class FencedInstanceIdException(ApiException):
    """Another member took over the group instance id."""


class GroupIdNotFoundException(ApiException):
    """There is no such group."""


class GroupMaxSizeReachedException(ApiException):
    """The group has as many members as it may have."""


class GroupNotEmptyException(ApiException):
    """The group has members, so it cannot be deleted."""


class GroupSubscribedToTopicException(ApiException):
    """The group still reads the topic whose offsets were to go."""


class IllegalGenerationException(ApiException):
    """The member's generation is not the group's."""


class InconsistentGroupProtocolException(ApiException):
    """The member shares no protocol with the group."""


class InvalidCommitOffsetSizeException(ApiException):
    """The commit record is larger than a message may be."""


class InvalidGroupIdException(ApiException):
    """A group id that is empty where one is needed."""


class InvalidSessionTimeoutException(ApiException):
    """A session timeout outside the broker's bounds."""


class MemberIdRequiredException(ApiException):
    """The member must join again with the id it was just given."""


class NotCoordinatorException(RetriableException):
    """Another broker coordinates the group or transaction."""


class OffsetMetadataTooLarge(ApiException):
    """The text beside a committed offset is too long."""


class RebalanceInProgressException(ApiException):
    """The group is rebalancing: join again."""


class UnknownMemberIdException(ApiException):
    """The group has no such member."""


# ---- Transactions


class ConcurrentTransactionsException(ApiException):
    """The previous transaction of the id is still being completed."""


class InvalidPidMappingException(ApiException):
    """The producer id is not the one of the transactional id."""


class InvalidTxnStateException(ApiException):
    """The transaction's state does not allow the step."""


class InvalidTxnTimeoutException(ApiException):
    """The transaction timeout exceeds the broker's bound."""


class ProducerFencedException(ApiException):
    """A newer producer with the same transactional id took over."""


class TransactionCoordinatorFencedException(ApiException):
    """The marker comes from a coordinator whose epoch is over."""


# ---- Requests, configuration, administration


class ConfigException(KafkaException):
    """A configuration value is missing or illegal."""

    _ABSENT: Any = object()

    def __init__(self, name: str, value: Any = _ABSENT, message: str | None = None) -> None:
        """Give one argument for a ready message, or the key, its value and optionally what is wrong with it."""
        if value is ConfigException._ABSENT:
            super().__init__(name)
        else:
            reason = "" if message is None else ": " + message
            super().__init__(f"Invalid value {'null' if value is None else value} for configuration {name}{reason}")


class DisconnectException(RetriableException):
    """The connection was lost while the request was in flight."""


class InvalidConfigurationException(ApiException):
    """A configuration that the broker refuses."""


class InvalidRequestException(ApiException):
    """The request is malformed, or not allowed in this place."""


class OperationNotAttemptedException(ApiException):
    """An earlier operation of the batch failed, so this one was not tried."""


class PolicyViolationException(ApiException):
    """The configured policy forbids it."""


class UnsupportedVersionException(ApiException):
    """The version of the API is not served."""


class SchemaException(KafkaException):
    """Bytes and schema do not agree."""


class InvalidReceiveException(KafkaException):
    """A frame's size is negative or above the limit."""


# ---- Security


class ClusterAuthorizationException(AuthorizationException):
    """The principal may not act on the cluster."""


class DelegationTokenAuthorizationException(AuthorizationException):
    """The principal may not see or use the token."""


class TransactionalIdAuthorizationException(AuthorizationException):
    """The principal may not use the transactional id."""


class DelegationTokenDisabledException(ApiException):
    """Delegation tokens are not configured."""


class DelegationTokenExpiredException(ApiException):
    """The token has run out."""


class DelegationTokenNotFoundException(ApiException):
    """There is no such token."""


class DelegationTokenOwnerMismatchException(ApiException):
    """Neither owner nor renewer of the token."""


class IllegalSaslStateException(AuthenticationException):
    """A request that does not fit the state of the SASL exchange."""


class InvalidPrincipalTypeException(ApiException):
    """A principal type that cannot be used here."""


class SaslAuthenticationException(AuthenticationException):
    """The SASL exchange failed."""


class SecurityDisabledException(ApiException):
    """No authorizer is configured."""


class SslAuthenticationException(AuthenticationException):
    """The TLS handshake failed."""


class UnsupportedByAuthenticationException(ApiException):
    """The way the client logged in does not allow the request."""


class UnsupportedSaslMechanismException(AuthenticationException):
    """The SASL mechanism is not enabled."""


# ---- kafka.common: never on the wire


class AdminCommandFailedException(RuntimeException):
    """A command line tool gave up; `suppressed` are those failures of which it made one."""

    def __init__(self, message: str | None = None, cause: BaseException | None = None) -> None:
        super().__init__(message, cause)
        self.suppressed: list[BaseException] = []


class AdminOperationException(RuntimeException):
    """An administrative write to ZooKeeper is not possible."""


class BrokerEndPointNotAvailableException(RuntimeException):
    """The broker has no endpoint on the listener."""


class CorruptIndexException(RuntimeException):
    """An index file contradicts its segment."""


class CorruptSnapshotException(KafkaException):
    """A producer state snapshot fails its checksum or has an unknown version."""


class GenerateBrokerIdException(RuntimeException):
    """No broker id could be drawn from ZooKeeper."""


class InconsistentBrokerIdException(RuntimeException):
    """The configured broker id is not the one in meta.properties."""


class InvalidConfigException(RuntimeException):
    """A value of the broker's configuration is illegal."""


class LogCleaningAbortedException(RuntimeException):
    """The cleaner was asked to leave the partition alone."""


class OffsetsOutOfOrderException(RuntimeException):
    """A batch does not start behind the one before it."""


class StateChangeFailedException(RuntimeException):
    """A partition or replica could not change state."""


class ThreadShutdownException(RuntimeException):
    """A thread stops because it was told to."""


class TopicAlreadyMarkedForDeletionException(RuntimeException):
    """The topic is already waiting for deletion."""


class UnknownCodecException(RuntimeException):
    """No compression codec has the id or name."""


# ---- Those that carry more than a message


class TopicAuthorizationException(AuthorizationException):
    """The principal may not do this with some topics."""

    def __init__(self, unauthorized_topics: str | Collection[str] | None = None) -> None:
        topics = {unauthorized_topics} if isinstance(unauthorized_topics, str) else set(unauthorized_topics or ())
        super().__init__(f"Not authorized to access topics: [{', '.join(sorted(topics))}]")
        self._unauthorized_topics = topics

    def unauthorized_topics(self) -> set[str]:
        """The names of the topics."""
        return self._unauthorized_topics


class GroupAuthorizationException(AuthorizationException):
    """The principal may not do this with the group."""

    def __init__(self, group_id: str | None = None) -> None:
        super().__init__(f"Not authorized to access group: {group_id}")
        self._group_id = group_id

    def group_id(self) -> str | None:
        """The id of the group."""
        return self._group_id


class RecordTooLargeException(ApiException):
    """A batch is larger than max.message.bytes, or a record larger than a fetch may be."""

    def __init__(
        self,
        message: str | None = None,
        record_too_large_partitions: Mapping[TopicPartition, int] | None = None,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(message, cause)
        self._record_too_large_partitions = record_too_large_partitions

    def record_too_large_partitions(self) -> Mapping[TopicPartition, int] | None:
        """Offset of the record per partition, where a consumer met one."""
        return self._record_too_large_partitions


class QuotaViolationException(KafkaException):
    """A sensor's value went beyond the bound set as its quota."""

    def __init__(self, metric: Any, value: float, bound: float) -> None:
        """``metric`` is the KafkaMetric that was exceeded, or its MetricName alone."""
        name = metric.metric_name() if hasattr(metric, "metric_name") else metric
        super().__init__(f"'{name}' violated quota. Actual: {value:f}, Threshold: {bound:f}")
        self._metric = metric
        self._metric_name = name
        self._value = value
        self._bound = bound

    def metric(self) -> Any:
        """The metric as it was given."""
        return self._metric

    def metric_name(self) -> Any:
        """The MetricName of the metric."""
        return self._metric_name

    def value(self) -> float:
        """What was measured."""
        return self._value

    def bound(self) -> float:
        """What was allowed."""
        return self._bound


class UnexpectedAppendOffsetException(RuntimeException):
    """A follower was handed offsets below its log's end."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.first_offset = first_offset
        self.last_offset = last_offset


class TooManyConnectionsException(KafkaException):
    """An address has as many connections as it may have."""

    def __init__(self, ip: str, count: int) -> None:
        super().__init__(f"Too many connections from {ip} (maximum = {count})")
        self.ip = ip
        self.count = count


class ConnectionThrottledException(KafkaException):
    """An address connects too often: its new connection is closed after a delay."""

    def __init__(self, ip: str, start_throttle_time_ms: int, throttle_time_ms: int) -> None:
        super().__init__(f"{ip} throttled for {throttle_time_ms}")
        self.ip = ip
        self.start_throttle_time_ms = start_throttle_time_ms
        self.throttle_time_ms = throttle_time_ms
