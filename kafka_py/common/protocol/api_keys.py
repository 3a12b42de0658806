"""The requests of the protocol, by id.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/ApiKeys.java @ 1.1.1
         (request_header_version and response_header_version as in 3.7.1)
Read next: common/requests/produce_request.py for the schemas of one of them
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema

_MAGIC_VALUE_V0 = 0
_MAGIC_VALUE_V2 = 2


class _Declared(NamedTuple):
    """A key as the class body states it: its id, its name, and what else sets it apart."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


def _key(*arguments: Any, **keywords: Any) -> Any:
    return _Declared(arguments, keywords)


class ApiKeys:
    """One API of the protocol: a singleton per id, to be compared with ``is``.

    Mirrors: org.apache.kafka.common.protocol.ApiKeys
    Left out: main, toHtml, retainsBufferReference, schemaFor, parseRequest, parseResponse -- the protocol's page is
              Kafka's; a schema knows by itself what it retains; a message knows its schemas, and parses itself
    Differs: a key says which version is the latest in use, its messages are declared in the modules of the requests,
             which are imported when they are first needed; str() gives the constant's name (PRODUCE), ``name`` the text
             of the protocol (Produce), as in Java.
    """

    __slots__ = (
        "_latest_version",
        "_request_header_versions",
        "_requires_delayed_allocation",
        "_response_header_versions",
        "class_prefix",
        "cluster_action",
        "constant",
        "id",
        "min_required_inter_broker_magic",
        "name",
    )

    PRODUCE: ClassVar[ApiKeys] = _key(0, "Produce", 8)
    FETCH: ClassVar[ApiKeys] = _key(1, "Fetch", 11)
    LIST_OFFSETS: ClassVar[ApiKeys] = _key(2, "ListOffsets", 5, class_prefix="ListOffset")
    METADATA: ClassVar[ApiKeys] = _key(3, "Metadata", 9)
    LEADER_AND_ISR: ClassVar[ApiKeys] = _key(4, "LeaderAndIsr", 4, cluster_action=True)
    STOP_REPLICA: ClassVar[ApiKeys] = _key(5, "StopReplica", 2, cluster_action=True)
    UPDATE_METADATA: ClassVar[ApiKeys] = _key(6, "UpdateMetadata", 6, cluster_action=True)
    CONTROLLED_SHUTDOWN: ClassVar[ApiKeys] = _key(7, "ControlledShutdown", 3, cluster_action=True)
    OFFSET_COMMIT: ClassVar[ApiKeys] = _key(8, "OffsetCommit", 8)
    OFFSET_FETCH: ClassVar[ApiKeys] = _key(9, "OffsetFetch", 7)
    FIND_COORDINATOR: ClassVar[ApiKeys] = _key(10, "FindCoordinator", 3)
    JOIN_GROUP: ClassVar[ApiKeys] = _key(11, "JoinGroup", 7)
    HEARTBEAT: ClassVar[ApiKeys] = _key(12, "Heartbeat", 4)
    LEAVE_GROUP: ClassVar[ApiKeys] = _key(13, "LeaveGroup", 4)
    SYNC_GROUP: ClassVar[ApiKeys] = _key(14, "SyncGroup", 5)
    DESCRIBE_GROUPS: ClassVar[ApiKeys] = _key(15, "DescribeGroups", 5)
    LIST_GROUPS: ClassVar[ApiKeys] = _key(16, "ListGroups", 3)
    SASL_HANDSHAKE: ClassVar[ApiKeys] = _key(17, "SaslHandshake", 1)
    API_VERSIONS: ClassVar[ApiKeys] = _key(18, "ApiVersions", 3)
    CREATE_TOPICS: ClassVar[ApiKeys] = _key(19, "CreateTopics", 2)
    DELETE_TOPICS: ClassVar[ApiKeys] = _key(20, "DeleteTopics", 1)
    DELETE_RECORDS: ClassVar[ApiKeys] = _key(21, "DeleteRecords", 0)
    INIT_PRODUCER_ID: ClassVar[ApiKeys] = _key(22, "InitProducerId", 3)
    OFFSET_FOR_LEADER_EPOCH: ClassVar[ApiKeys] = _key(
        23, "OffsetForLeaderEpoch", 3, class_prefix="OffsetsForLeaderEpoch"
    )
    ADD_PARTITIONS_TO_TXN: ClassVar[ApiKeys] = _key(
        24, "AddPartitionsToTxn", 4, min_required_inter_broker_magic=_MAGIC_VALUE_V2
    )
    ADD_OFFSETS_TO_TXN: ClassVar[ApiKeys] = _key(
        25, "AddOffsetsToTxn", 1, min_required_inter_broker_magic=_MAGIC_VALUE_V2
    )
    END_TXN: ClassVar[ApiKeys] = _key(26, "EndTxn", 1, min_required_inter_broker_magic=_MAGIC_VALUE_V2)
    WRITE_TXN_MARKERS: ClassVar[ApiKeys] = _key(
        27, "WriteTxnMarkers", 0, cluster_action=True, min_required_inter_broker_magic=_MAGIC_VALUE_V2
    )
    TXN_OFFSET_COMMIT: ClassVar[ApiKeys] = _key(
        28, "TxnOffsetCommit", 3, min_required_inter_broker_magic=_MAGIC_VALUE_V2
    )
    DESCRIBE_ACLS: ClassVar[ApiKeys] = _key(29, "DescribeAcls", 0)
    CREATE_ACLS: ClassVar[ApiKeys] = _key(30, "CreateAcls", 0)
    DELETE_ACLS: ClassVar[ApiKeys] = _key(31, "DeleteAcls", 0)
    DESCRIBE_CONFIGS: ClassVar[ApiKeys] = _key(32, "DescribeConfigs", 1)
    ALTER_CONFIGS: ClassVar[ApiKeys] = _key(33, "AlterConfigs", 0)
    ALTER_REPLICA_LOG_DIRS: ClassVar[ApiKeys] = _key(34, "AlterReplicaLogDirs", 0)
    DESCRIBE_LOG_DIRS: ClassVar[ApiKeys] = _key(35, "DescribeLogDirs", 0)
    SASL_AUTHENTICATE: ClassVar[ApiKeys] = _key(36, "SaslAuthenticate", 0)
    CREATE_PARTITIONS: ClassVar[ApiKeys] = _key(37, "CreatePartitions", 0)
    CREATE_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(38, "CreateDelegationToken", 0)
    RENEW_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(39, "RenewDelegationToken", 0)
    EXPIRE_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(40, "ExpireDelegationToken", 0)
    DESCRIBE_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(41, "DescribeDelegationToken", 0)
    DELETE_GROUPS: ClassVar[ApiKeys] = _key(42, "DeleteGroups", 2)
    ELECT_LEADERS: ClassVar[ApiKeys] = _key(43, "ElectLeaders", 2)
    ALTER_PARTITION_REASSIGNMENTS: ClassVar[ApiKeys] = _key(45, "AlterPartitionReassignments", 0)
    LIST_PARTITION_REASSIGNMENTS: ClassVar[ApiKeys] = _key(46, "ListPartitionReassignments", 0)
    OFFSET_DELETE: ClassVar[ApiKeys] = _key(47, "OffsetDelete", 0)

    # Declared, and not in use yet: has_id and values know nothing of them.
    INCREMENTAL_ALTER_CONFIGS: ClassVar[ApiKeys] = _key(44, "IncrementalAlterConfigs", -1)

    MIN_API_KEY: ClassVar[int] = 0
    MAX_API_KEY: ClassVar[int]
    _ID_TO_TYPE: ClassVar[dict[int, ApiKeys]] = {}

    def __init__(
        self,
        constant: str,
        id: int,
        name: str,
        latest_version: int,
        cluster_action: bool = False,
        min_required_inter_broker_magic: int = _MAGIC_VALUE_V0,
        class_prefix: str | None = None,
    ) -> None:
        self.constant = constant
        self.id = id
        self.name = name
        self.cluster_action = cluster_action
        self.min_required_inter_broker_magic = min_required_inter_broker_magic
        self.class_prefix = class_prefix or name
        self._latest_version = latest_version
        self._request_header_versions: list[int] = []  # volatile: any thread that asks first; all find the same
        self._response_header_versions: list[int] = []  # volatile: as the request's
        self._requires_delayed_allocation: bool | None = None  # volatile: as the request's header versions

    @staticmethod
    def values() -> list[ApiKeys]:
        """All keys in the order of their ids."""
        return list(ApiKeys._ID_TO_TYPE.values())

    @staticmethod
    def for_id(id: int) -> ApiKeys:
        """The key of an id; ValueError outside the range."""
        key = ApiKeys._ID_TO_TYPE.get(id)
        if key is None:
            raise ValueError(
                f"Unexpected ApiKeys id `{id}`, it should be between `{ApiKeys.MIN_API_KEY}` "
                f"and `{ApiKeys.MAX_API_KEY}` (inclusive)"
            )
        return key

    @staticmethod
    def has_id(id: int) -> bool:
        """Whether there is a key of this id."""
        return id in ApiKeys._ID_TO_TYPE

    @property
    def requires_delayed_allocation(self) -> bool:
        """Whether a parsed request keeps slices of its buffer."""
        found = self._requires_delayed_allocation
        if found is None:
            versions = range(self._latest_version + 1)
            found = any(self.request_schema(version).retains_buffer_reference() for version in versions)
            self._requires_delayed_allocation = found
        return found

    def request_class(self) -> Any:
        """The class of the request."""
        return self._class("Request")

    def response_class(self) -> Any:
        """The class of the response."""
        return self._class("Response")

    def _class(self, kind: str) -> Any:
        module = importlib.import_module(f"kafka_py.common.requests.{_snake(self.class_prefix)}_{kind.lower()}")
        return getattr(module, self.class_prefix + kind)

    def _load(self) -> None:
        declared = self.request_class()
        flexible = [version >= declared.FLEXIBLE for version in range(declared.LATEST + 1)]
        request_header_versions = [2 if tags else 1 for tags in flexible]
        response_header_versions = [1 if tags else 0 for tags in flexible]
        if self is ApiKeys.CONTROLLED_SHUTDOWN:
            request_header_versions[0] = 0
        if self is ApiKeys.API_VERSIONS:
            # A client that asks with a version the broker lacks must be able to read the answer.
            response_header_versions = [0] * len(response_header_versions)
        # Whole lists: another thread may look into them at any moment.
        self._request_header_versions = request_header_versions
        self._response_header_versions = response_header_versions

    def latest_version(self) -> int:
        """The highest version in use; the message may be declared for later ones."""
        return self._latest_version

    def oldest_version(self) -> int:
        """The lowest version: 0 for every key."""
        return 0

    def is_version_supported(self, api_version: int) -> bool:
        """Whether the version is in use."""
        return 0 <= api_version <= self._latest_version

    def request_schema(self, version: int) -> Schema:
        """The request's schema; ValueError for a version that is not in use."""
        return self._schema_of(self.request_class(), version)

    def response_schema(self, version: int) -> Schema:
        """The response's schema; ValueError for a version that is not in use."""
        return self._schema_of(self.response_class(), version)

    def _schema_of(self, message_class: Any, version: int) -> Schema:
        if not self.is_version_supported(version):
            raise ValueError(f"Invalid version for API key {self}: {version}")
        schema: Schema = message_class.schema(version)
        return schema

    def request_header_version(self, api_version: int) -> int:
        """0 without a client id, 1 with one, 2 with tagged fields."""
        versions = self._request_header_versions
        if not versions:
            self._load()
            versions = self._request_header_versions
        # The header of a version to come (an ApiVersions request's) is read as far as all versions agree.
        return versions[api_version] if 0 <= api_version < len(versions) else 1

    def response_header_version(self, api_version: int) -> int:
        """0, or 1 with tagged fields."""
        versions = self._response_header_versions
        if not versions:
            self._load()
            versions = self._response_header_versions
        return versions[api_version] if 0 <= api_version < len(versions) else 0

    def __str__(self) -> str:
        return self.constant

    def __repr__(self) -> str:
        return f"ApiKeys.{self.constant}"

    def __reduce__(self) -> str:
        return f"ApiKeys.{self.constant}"


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


# What the class body declares becomes the singletons, now that the class is there.
for _constant, _declared in list(vars(ApiKeys).items()):
    if isinstance(_declared, _Declared):
        _made = ApiKeys(_constant, *_declared.arguments, **_declared.keywords)
        setattr(ApiKeys, _constant, _made)
        if _made.latest_version() >= 0:
            ApiKeys._ID_TO_TYPE[_made.id] = _made
ApiKeys.MAX_API_KEY = max(ApiKeys._ID_TO_TYPE)
