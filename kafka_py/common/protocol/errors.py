"""The error codes of the protocol and the exceptions they stand for.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/Errors.java @ 1.1.1 (codes 72 to 88 as in 3.7.1)
Read next: common/errors.py
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar, NamedTuple

from kafka_py.common import errors

log = logging.getLogger("org.apache.kafka.common.protocol.Errors")


class _Declared(NamedTuple):
    """An error as the class body states it: its code, its exception and the default message."""

    code: int
    exception_class: type[errors.ApiException] | None
    message: str | None


def _error(code: int, exception_class: type[errors.ApiException] | None = None, message: str | None = None) -> Any:
    return _Declared(code, exception_class, message)


class Errors:
    """One error code of the protocol: a singleton per code, to be compared with ``is``.

    Mirrors: org.apache.kafka.common.protocol.Errors
    Left out: main, toHtml -- the protocol's page belongs to Kafka's build
    Differs: ``exception()`` makes a new exception each time where Java hands out one per code: a Python exception
             that is raised twice would grow its traceback from raise to raise.
    """

    __slots__ = ("_exception_class", "_message", "code", "name")

    _CODE_TO_ERROR: ClassVar[dict[int, Errors]] = {}
    _CLASS_TO_ERROR: ClassVar[dict[type[BaseException], Errors]] = {}

    UNKNOWN_SERVER_ERROR: ClassVar[Errors] = _error(
        -1, errors.UnknownServerException, "The server experienced an unexpected error when processing the request"
    )
    NONE: ClassVar[Errors] = _error(0)
    OFFSET_OUT_OF_RANGE: ClassVar[Errors] = _error(
        1,
        errors.OffsetOutOfRangeException,
        "The requested offset is not within the range of offsets maintained by the server.",
    )
    CORRUPT_MESSAGE: ClassVar[Errors] = _error(
        2,
        errors.CorruptRecordException,
        "This message has failed its CRC checksum, exceeds the valid size, or is otherwise corrupt.",
    )
    UNKNOWN_TOPIC_OR_PARTITION: ClassVar[Errors] = _error(
        3, errors.UnknownTopicOrPartitionException, "This server does not host this topic-partition."
    )
    INVALID_FETCH_SIZE: ClassVar[Errors] = _error(
        4, errors.InvalidFetchSizeException, "The requested fetch size is invalid."
    )
    LEADER_NOT_AVAILABLE: ClassVar[Errors] = _error(
        5,
        errors.LeaderNotAvailableException,
        "There is no leader for this topic-partition as we are in the middle of a leadership election.",
    )
    NOT_LEADER_FOR_PARTITION: ClassVar[Errors] = _error(
        6, errors.NotLeaderForPartitionException, "This server is not the leader for that topic-partition."
    )
    REQUEST_TIMED_OUT: ClassVar[Errors] = _error(7, errors.TimeoutException, "The request timed out.")
    BROKER_NOT_AVAILABLE: ClassVar[Errors] = _error(
        8, errors.BrokerNotAvailableException, "The broker is not available."
    )
    REPLICA_NOT_AVAILABLE: ClassVar[Errors] = _error(
        9, errors.ReplicaNotAvailableException, "The replica is not available for the requested topic-partition"
    )
    MESSAGE_TOO_LARGE: ClassVar[Errors] = _error(
        10,
        errors.RecordTooLargeException,
        "The request included a message larger than the max message size the server will accept.",
    )
    STALE_CONTROLLER_EPOCH: ClassVar[Errors] = _error(
        11, errors.ControllerMovedException, "The controller moved to another broker."
    )
    OFFSET_METADATA_TOO_LARGE: ClassVar[Errors] = _error(
        12, errors.OffsetMetadataTooLarge, "The metadata field of the offset request was too large."
    )
    NETWORK_EXCEPTION: ClassVar[Errors] = _error(
        13, errors.NetworkException, "The server disconnected before a response was received."
    )
    COORDINATOR_LOAD_IN_PROGRESS: ClassVar[Errors] = _error(
        14, errors.CoordinatorLoadInProgressException, "The coordinator is loading and hence can't process requests."
    )
    COORDINATOR_NOT_AVAILABLE: ClassVar[Errors] = _error(
        15, errors.CoordinatorNotAvailableException, "The coordinator is not available."
    )
    NOT_COORDINATOR: ClassVar[Errors] = _error(
        16, errors.NotCoordinatorException, "This is not the correct coordinator."
    )
    INVALID_TOPIC_EXCEPTION: ClassVar[Errors] = _error(
        17, errors.InvalidTopicException, "The request attempted to perform an operation on an invalid topic."
    )
    RECORD_LIST_TOO_LARGE: ClassVar[Errors] = _error(
        18,
        errors.RecordBatchTooLargeException,
        "The request included message batch larger than the configured segment size on the server.",
    )
    NOT_ENOUGH_REPLICAS: ClassVar[Errors] = _error(
        19,
        errors.NotEnoughReplicasException,
        "Messages are rejected since there are fewer in-sync replicas than required.",
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: ClassVar[Errors] = _error(
        20,
        errors.NotEnoughReplicasAfterAppendException,
        "Messages are written to the log, but to fewer in-sync replicas than required.",
    )
    INVALID_REQUIRED_ACKS: ClassVar[Errors] = _error(
        21, errors.InvalidRequiredAcksException, "Produce request specified an invalid value for required acks."
    )
    ILLEGAL_GENERATION: ClassVar[Errors] = _error(
        22, errors.IllegalGenerationException, "Specified group generation id is not valid."
    )
    INCONSISTENT_GROUP_PROTOCOL: ClassVar[Errors] = _error(
        23,
        errors.InconsistentGroupProtocolException,
        "The group member's supported protocols are incompatible with those of existing members or "
        "first group member tried to join with empty protocol type or empty protocol list.",
    )
    INVALID_GROUP_ID: ClassVar[Errors] = _error(24, errors.InvalidGroupIdException, "The configured groupId is invalid")
    UNKNOWN_MEMBER_ID: ClassVar[Errors] = _error(
        25, errors.UnknownMemberIdException, "The coordinator is not aware of this member."
    )
    INVALID_SESSION_TIMEOUT: ClassVar[Errors] = _error(
        26,
        errors.InvalidSessionTimeoutException,
        "The session timeout is not within the range allowed by the broker (as configured by "
        "group.min.session.timeout.ms and group.max.session.timeout.ms).",
    )
    REBALANCE_IN_PROGRESS: ClassVar[Errors] = _error(
        27, errors.RebalanceInProgressException, "The group is rebalancing, so a rejoin is needed."
    )
    INVALID_COMMIT_OFFSET_SIZE: ClassVar[Errors] = _error(
        28, errors.InvalidCommitOffsetSizeException, "The committing offset data size is not valid"
    )
    TOPIC_AUTHORIZATION_FAILED: ClassVar[Errors] = _error(
        29, errors.TopicAuthorizationException, "Topic authorization failed."
    )
    GROUP_AUTHORIZATION_FAILED: ClassVar[Errors] = _error(
        30, errors.GroupAuthorizationException, "Group authorization failed."
    )
    CLUSTER_AUTHORIZATION_FAILED: ClassVar[Errors] = _error(
        31, errors.ClusterAuthorizationException, "Cluster authorization failed."
    )
    INVALID_TIMESTAMP: ClassVar[Errors] = _error(
        32, errors.InvalidTimestampException, "The timestamp of the message is out of acceptable range."
    )
    UNSUPPORTED_SASL_MECHANISM: ClassVar[Errors] = _error(
        33, errors.UnsupportedSaslMechanismException, "The broker does not support the requested SASL mechanism."
    )
    ILLEGAL_SASL_STATE: ClassVar[Errors] = _error(
        34, errors.IllegalSaslStateException, "Request is not valid given the current SASL state."
    )
    UNSUPPORTED_VERSION: ClassVar[Errors] = _error(
        35, errors.UnsupportedVersionException, "The version of API is not supported."
    )
    TOPIC_ALREADY_EXISTS: ClassVar[Errors] = _error(
        36, errors.TopicExistsException, "Topic with this name already exists."
    )
    INVALID_PARTITIONS: ClassVar[Errors] = _error(
        37, errors.InvalidPartitionsException, "Number of partitions is invalid."
    )
    INVALID_REPLICATION_FACTOR: ClassVar[Errors] = _error(
        38, errors.InvalidReplicationFactorException, "Replication-factor is invalid."
    )
    INVALID_REPLICA_ASSIGNMENT: ClassVar[Errors] = _error(
        39, errors.InvalidReplicaAssignmentException, "Replica assignment is invalid."
    )
    INVALID_CONFIG: ClassVar[Errors] = _error(40, errors.InvalidConfigurationException, "Configuration is invalid.")
    NOT_CONTROLLER: ClassVar[Errors] = _error(
        41, errors.NotControllerException, "This is not the correct controller for this cluster."
    )
    INVALID_REQUEST: ClassVar[Errors] = _error(
        42,
        errors.InvalidRequestException,
        "This most likely occurs because of a request being malformed by the client library or the "
        "message was sent to an incompatible broker. See the broker logs for more details.",
    )
    UNSUPPORTED_FOR_MESSAGE_FORMAT: ClassVar[Errors] = _error(
        43,
        errors.UnsupportedForMessageFormatException,
        "The message format version on the broker does not support the request.",
    )
    POLICY_VIOLATION: ClassVar[Errors] = _error(
        44, errors.PolicyViolationException, "Request parameters do not satisfy the configured policy."
    )
    OUT_OF_ORDER_SEQUENCE_NUMBER: ClassVar[Errors] = _error(
        45, errors.OutOfOrderSequenceException, "The broker received an out of order sequence number"
    )
    DUPLICATE_SEQUENCE_NUMBER: ClassVar[Errors] = _error(
        46, errors.DuplicateSequenceException, "The broker received a duplicate sequence number"
    )
    INVALID_PRODUCER_EPOCH: ClassVar[Errors] = _error(
        47,
        errors.ProducerFencedException,
        "Producer attempted an operation with an old epoch. Either there is a newer producer with the"
        " same transactionalId, or the producer's transaction has been expired by the broker.",
    )
    INVALID_TXN_STATE: ClassVar[Errors] = _error(
        48, errors.InvalidTxnStateException, "The producer attempted a transactional operation in an invalid state"
    )
    INVALID_PRODUCER_ID_MAPPING: ClassVar[Errors] = _error(
        49,
        errors.InvalidPidMappingException,
        "The producer attempted to use a producer id which is not currently assigned to its transactional id",
    )
    INVALID_TRANSACTION_TIMEOUT: ClassVar[Errors] = _error(
        50,
        errors.InvalidTxnTimeoutException,
        "The transaction timeout is larger than the maximum value allowed by the broker (as "
        "configured by transaction.max.timeout.ms).",
    )
    CONCURRENT_TRANSACTIONS: ClassVar[Errors] = _error(
        51,
        errors.ConcurrentTransactionsException,
        "The producer attempted to update a transaction while another concurrent operation on the "
        "same transaction was ongoing",
    )
    TRANSACTION_COORDINATOR_FENCED: ClassVar[Errors] = _error(
        52,
        errors.TransactionCoordinatorFencedException,
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current"
        " coordinator for a given producer",
    )
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ClassVar[Errors] = _error(
        53, errors.TransactionalIdAuthorizationException, "Transactional Id authorization failed"
    )
    SECURITY_DISABLED: ClassVar[Errors] = _error(
        54, errors.SecurityDisabledException, "Security features are disabled."
    )
    OPERATION_NOT_ATTEMPTED: ClassVar[Errors] = _error(
        55,
        errors.OperationNotAttemptedException,
        "The broker did not attempt to execute this operation. This may happen for batched RPCs where"
        " some operations in the batch failed, causing the broker to respond without trying the rest.",
    )
    KAFKA_STORAGE_ERROR: ClassVar[Errors] = _error(
        56, errors.KafkaStorageException, "Disk error when trying to access log file on the disk."
    )
    LOG_DIR_NOT_FOUND: ClassVar[Errors] = _error(
        57, errors.LogDirNotFoundException, "The user-specified log directory is not found in the broker config."
    )
    SASL_AUTHENTICATION_FAILED: ClassVar[Errors] = _error(
        58, errors.SaslAuthenticationException, "SASL Authentication failed."
    )
    UNKNOWN_PRODUCER_ID: ClassVar[Errors] = _error(
        59,
        errors.UnknownProducerIdException,
        "This exception is raised by the broker if it could not locate the producer metadata "
        "associated with the producerId in question. This could happen if, for instance, the "
        "producer's records were deleted because their retention time had elapsed. Once the last "
        "records of the producerId are removed, the producer's metadata is removed from the broker, "
        "and future appends by the producer will return this exception.",
    )
    REASSIGNMENT_IN_PROGRESS: ClassVar[Errors] = _error(
        60, errors.ReassignmentInProgressException, "A partition reassignment is in progress"
    )
    DELEGATION_TOKEN_AUTH_DISABLED: ClassVar[Errors] = _error(
        61, errors.DelegationTokenDisabledException, "Delegation Token feature is not enabled."
    )
    DELEGATION_TOKEN_NOT_FOUND: ClassVar[Errors] = _error(
        62, errors.DelegationTokenNotFoundException, "Delegation Token is not found on server."
    )
    DELEGATION_TOKEN_OWNER_MISMATCH: ClassVar[Errors] = _error(
        63, errors.DelegationTokenOwnerMismatchException, "Specified Principal is not valid Owner/Renewer."
    )
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: ClassVar[Errors] = _error(
        64,
        errors.UnsupportedByAuthenticationException,
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation "
        "token authenticated channels.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED: ClassVar[Errors] = _error(
        65, errors.DelegationTokenAuthorizationException, "Delegation Token authorization failed."
    )
    DELEGATION_TOKEN_EXPIRED: ClassVar[Errors] = _error(
        66, errors.DelegationTokenExpiredException, "Delegation Token is expired."
    )
    INVALID_PRINCIPAL_TYPE: ClassVar[Errors] = _error(
        67, errors.InvalidPrincipalTypeException, "Supplied principalType is not supported"
    )
    NON_EMPTY_GROUP: ClassVar[Errors] = _error(68, errors.GroupNotEmptyException, "The group is not empty")
    GROUP_ID_NOT_FOUND: ClassVar[Errors] = _error(69, errors.GroupIdNotFoundException, "The group id does not exist")
    FETCH_SESSION_ID_NOT_FOUND: ClassVar[Errors] = _error(
        70, errors.FetchSessionIdNotFoundException, "The fetch session ID was not found"
    )
    INVALID_FETCH_SESSION_EPOCH: ClassVar[Errors] = _error(
        71, errors.InvalidFetchSessionEpochException, "The fetch session epoch is invalid"
    )
    LISTENER_NOT_FOUND: ClassVar[Errors] = _error(
        72,
        errors.ListenerNotFoundException,
        "There is no listener on the leader broker that matches the listener on which metadata request was processed.",
    )
    TOPIC_DELETION_DISABLED: ClassVar[Errors] = _error(
        73, errors.TopicDeletionDisabledException, "Topic deletion is disabled."
    )
    FENCED_LEADER_EPOCH: ClassVar[Errors] = _error(
        74, errors.FencedLeaderEpochException, "The leader epoch in the request is older than the epoch on the broker."
    )
    UNKNOWN_LEADER_EPOCH: ClassVar[Errors] = _error(
        75, errors.UnknownLeaderEpochException, "The leader epoch in the request is newer than the epoch on the broker."
    )
    UNSUPPORTED_COMPRESSION_TYPE: ClassVar[Errors] = _error(
        76,
        errors.UnsupportedCompressionTypeException,
        "The requesting client does not support the compression type of given partition.",
    )
    STALE_BROKER_EPOCH: ClassVar[Errors] = _error(77, errors.StaleBrokerEpochException, "Broker epoch has changed.")
    OFFSET_NOT_AVAILABLE: ClassVar[Errors] = _error(
        78,
        errors.OffsetNotAvailableException,
        "The leader high watermark has not caught up from a recent leader election so the offsets "
        "cannot be guaranteed to be monotonically increasing.",
    )
    MEMBER_ID_REQUIRED: ClassVar[Errors] = _error(
        79,
        errors.MemberIdRequiredException,
        "The group member needs to have a valid member id before actually entering a consumer group.",
    )
    PREFERRED_LEADER_NOT_AVAILABLE: ClassVar[Errors] = _error(
        80, errors.PreferredLeaderNotAvailableException, "The preferred leader was not available."
    )
    GROUP_MAX_SIZE_REACHED: ClassVar[Errors] = _error(
        81, errors.GroupMaxSizeReachedException, "The consumer group has reached its max size."
    )
    FENCED_INSTANCE_ID: ClassVar[Errors] = _error(
        82,
        errors.FencedInstanceIdException,
        "The broker rejected this static consumer since another consumer with the same "
        "group.instance.id has registered with a different member.id.",
    )
    ELIGIBLE_LEADERS_NOT_AVAILABLE: ClassVar[Errors] = _error(
        83, errors.EligibleLeadersNotAvailableException, "Eligible topic partition leaders are not available."
    )
    ELECTION_NOT_NEEDED: ClassVar[Errors] = _error(
        84, errors.ElectionNotNeededException, "Leader election not needed for topic partition."
    )
    NO_REASSIGNMENT_IN_PROGRESS: ClassVar[Errors] = _error(
        85, errors.NoReassignmentInProgressException, "No partition reassignment is in progress."
    )
    GROUP_SUBSCRIBED_TO_TOPIC: ClassVar[Errors] = _error(
        86,
        errors.GroupSubscribedToTopicException,
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
    )
    INVALID_RECORD: ClassVar[Errors] = _error(
        87, errors.InvalidRecordException, "This record has failed the validation on broker and hence will be rejected."
    )
    UNSTABLE_OFFSET_COMMIT: ClassVar[Errors] = _error(
        88,
        errors.UnstableOffsetCommitException,
        "There are unstable offsets that need to be cleared.",
    )

    def __init__(
        self,
        name: str,
        code: int,
        exception_class: type[errors.ApiException] | None = None,
        message: str | None = None,
    ) -> None:
        self.name = name
        self.code = code
        self._exception_class = exception_class
        self._message = message

    def exception(self, message: str | None = None) -> errors.ApiException | None:
        """A new exception of this error with the given or the default message; None for NONE."""
        cls = self._exception_class
        if cls is None:
            return None
        return cls(self._message if message is None else message)

    def exception_name(self) -> str | None:
        """Kafka's full name of the exception class, or None for NONE."""
        cls = self._exception_class
        if cls is None:
            return None
        package = "record" if cls is errors.InvalidRecordException else "errors"
        return f"org.apache.kafka.common.{package}.{cls.__name__}"

    def maybe_throw(self) -> None:
        """Raise the exception unless this is NONE."""
        exception = self.exception()
        if exception is not None:
            raise exception

    def message(self) -> str:
        """The default message, or the name where there is none."""
        return self.name if self._exception_class is None else str(self._exception_class(self._message))

    @classmethod
    def values(cls) -> list[Errors]:
        """All errors in the order of their codes."""
        return list(cls._CODE_TO_ERROR.values())

    @classmethod
    def for_code(cls, code: int) -> Errors:
        """The error of a code; UNKNOWN_SERVER_ERROR, and a warning, for a code that is not known."""
        error = cls._CODE_TO_ERROR.get(code)
        if error is None:
            log.warning("Unexpected error code: %s.", code)
            return Errors.UNKNOWN_SERVER_ERROR
        return error

    @classmethod
    def for_exception(cls, t: BaseException) -> Errors:
        """The error of the exception's class or of its nearest base class; UNKNOWN_SERVER_ERROR if there is none."""
        class_to_error = cls._CLASS_TO_ERROR
        for clazz in type(t).__mro__:
            error = class_to_error.get(clazz)
            if error is not None:
                return error
        return Errors.UNKNOWN_SERVER_ERROR

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Errors.{self.name}"

    def __reduce__(self) -> str:
        return f"Errors.{self.name}"


def _declare() -> None:
    """Make the members, in the order of the class: where codes share an exception class, the first one owns it."""
    for name, declared in list(vars(Errors).items()):
        if isinstance(declared, _Declared):
            error = Errors(name, *declared)
            setattr(Errors, name, error)
            Errors._CODE_TO_ERROR[error.code] = error
            # InvalidRecordException is a CorruptRecordException in 1.1.1: a broken batch is answered with code 2,
            # not 87.
            if declared.exception_class not in (None, errors.InvalidRecordException):
                Errors._CLASS_TO_ERROR.setdefault(declared.exception_class, error)


_declare()
