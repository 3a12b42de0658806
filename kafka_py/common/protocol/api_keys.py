"""The requests of the protocol, by id.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/ApiKeys.java @ 1.1.1
         (request_header_version and response_header_version as in 3.7.1)
Read next: common/requests/produce_request.py for the schemas of one of them
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafka_py.common.errors import IllegalStateException, SchemaException

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema
    from kafka_py.common.protocol.types.struct import Struct

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
    Differs: the schemas stay in the modules of the requests, which are imported when a key is first used; str() gives
             the constant's name (PRODUCE), ``name`` the text of the protocol (Produce), as in Java.
    """

    __slots__ = (
        "_request_header_versions",
        "_request_schemas",
        "_requires_delayed_allocation",
        "_response_header_versions",
        "_response_schemas",
        "class_prefix",
        "cluster_action",
        "constant",
        "id",
        "min_required_inter_broker_magic",
        "name",
    )

    PRODUCE: ClassVar[ApiKeys] = _key(0, "Produce")
    FETCH: ClassVar[ApiKeys] = _key(1, "Fetch")
    LIST_OFFSETS: ClassVar[ApiKeys] = _key(2, "ListOffsets", class_prefix="ListOffset")
    METADATA: ClassVar[ApiKeys] = _key(3, "Metadata")
    LEADER_AND_ISR: ClassVar[ApiKeys] = _key(4, "LeaderAndIsr", cluster_action=True)
    STOP_REPLICA: ClassVar[ApiKeys] = _key(5, "StopReplica", cluster_action=True)
    UPDATE_METADATA: ClassVar[ApiKeys] = _key(6, "UpdateMetadata", cluster_action=True)
    CONTROLLED_SHUTDOWN: ClassVar[ApiKeys] = _key(7, "ControlledShutdown", cluster_action=True)
    OFFSET_COMMIT: ClassVar[ApiKeys] = _key(8, "OffsetCommit")
    OFFSET_FETCH: ClassVar[ApiKeys] = _key(9, "OffsetFetch")
    FIND_COORDINATOR: ClassVar[ApiKeys] = _key(10, "FindCoordinator")
    JOIN_GROUP: ClassVar[ApiKeys] = _key(11, "JoinGroup")
    HEARTBEAT: ClassVar[ApiKeys] = _key(12, "Heartbeat")
    LEAVE_GROUP: ClassVar[ApiKeys] = _key(13, "LeaveGroup")
    SYNC_GROUP: ClassVar[ApiKeys] = _key(14, "SyncGroup")
    DESCRIBE_GROUPS: ClassVar[ApiKeys] = _key(15, "DescribeGroups")
    LIST_GROUPS: ClassVar[ApiKeys] = _key(16, "ListGroups")
    SASL_HANDSHAKE: ClassVar[ApiKeys] = _key(17, "SaslHandshake")
    API_VERSIONS: ClassVar[ApiKeys] = _key(18, "ApiVersions")
    CREATE_TOPICS: ClassVar[ApiKeys] = _key(19, "CreateTopics")
    DELETE_TOPICS: ClassVar[ApiKeys] = _key(20, "DeleteTopics")
    DELETE_RECORDS: ClassVar[ApiKeys] = _key(21, "DeleteRecords")
    INIT_PRODUCER_ID: ClassVar[ApiKeys] = _key(22, "InitProducerId")
    OFFSET_FOR_LEADER_EPOCH: ClassVar[ApiKeys] = _key(
        23, "OffsetForLeaderEpoch", cluster_action=True, class_prefix="OffsetsForLeaderEpoch"
    )
    ADD_PARTITIONS_TO_TXN: ClassVar[ApiKeys] = _key(
        24, "AddPartitionsToTxn", min_required_inter_broker_magic=_MAGIC_VALUE_V2
    )
    ADD_OFFSETS_TO_TXN: ClassVar[ApiKeys] = _key(25, "AddOffsetsToTxn", min_required_inter_broker_magic=_MAGIC_VALUE_V2)
    END_TXN: ClassVar[ApiKeys] = _key(26, "EndTxn", min_required_inter_broker_magic=_MAGIC_VALUE_V2)
    WRITE_TXN_MARKERS: ClassVar[ApiKeys] = _key(
        27, "WriteTxnMarkers", cluster_action=True, min_required_inter_broker_magic=_MAGIC_VALUE_V2
    )
    TXN_OFFSET_COMMIT: ClassVar[ApiKeys] = _key(28, "TxnOffsetCommit", min_required_inter_broker_magic=_MAGIC_VALUE_V2)
    DESCRIBE_ACLS: ClassVar[ApiKeys] = _key(29, "DescribeAcls")
    CREATE_ACLS: ClassVar[ApiKeys] = _key(30, "CreateAcls")
    DELETE_ACLS: ClassVar[ApiKeys] = _key(31, "DeleteAcls")
    DESCRIBE_CONFIGS: ClassVar[ApiKeys] = _key(32, "DescribeConfigs")
    ALTER_CONFIGS: ClassVar[ApiKeys] = _key(33, "AlterConfigs")
    ALTER_REPLICA_LOG_DIRS: ClassVar[ApiKeys] = _key(34, "AlterReplicaLogDirs")
    DESCRIBE_LOG_DIRS: ClassVar[ApiKeys] = _key(35, "DescribeLogDirs")
    SASL_AUTHENTICATE: ClassVar[ApiKeys] = _key(36, "SaslAuthenticate")
    CREATE_PARTITIONS: ClassVar[ApiKeys] = _key(37, "CreatePartitions")
    CREATE_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(38, "CreateDelegationToken")
    RENEW_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(39, "RenewDelegationToken")
    EXPIRE_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(40, "ExpireDelegationToken")
    DESCRIBE_DELEGATION_TOKEN: ClassVar[ApiKeys] = _key(41, "DescribeDelegationToken")
    DELETE_GROUPS: ClassVar[ApiKeys] = _key(42, "DeleteGroups")

    MIN_API_KEY: ClassVar[int] = 0
    MAX_API_KEY: ClassVar[int]
    _ID_TO_TYPE: ClassVar[dict[int, ApiKeys]] = {}

    def __init__(
        self,
        constant: str,
        id: int,
        name: str,
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
        self._request_schemas: list[Schema] | None = None
        self._response_schemas: list[Schema] = []
        self._request_header_versions: list[int] = []
        self._requires_delayed_allocation = False
        self._response_header_versions: list[int] = []

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
    def is_cluster_action(self) -> bool:
        """Whether only brokers send it."""
        return self.cluster_action

    @property
    def request_schemas(self) -> list[Schema]:
        """The schemas of the request, by version."""
        schemas = self._request_schemas
        return self._load() if schemas is None else schemas

    @property
    def response_schemas(self) -> list[Schema]:
        """The schemas of the response, by version."""
        if self._request_schemas is None:
            self._load()
        return self._response_schemas

    @property
    def requires_delayed_allocation(self) -> bool:
        """Whether a parsed request keeps slices of its buffer."""
        if self._request_schemas is None:
            self._load()
        return self._requires_delayed_allocation

    def request_class(self) -> Any:
        """The class of the request."""
        return self._class("Request")

    def response_class(self) -> Any:
        """The class of the response."""
        return self._class("Response")

    def _class(self, kind: str) -> Any:
        module = importlib.import_module(f"kafka_py.common.requests.{_snake(self.class_prefix)}_{kind.lower()}")
        return getattr(module, self.class_prefix + kind)

    def _load(self) -> list[Schema]:
        request_schemas: list[Schema] = self.request_class().schema_versions()
        response_schemas: list[Schema] = self.response_class().schema_versions()
        if len(request_schemas) != len(response_schemas):
            raise IllegalStateException(
                f"{len(request_schemas)} request versions for api {self.name} "
                f"but {len(response_schemas)} response versions."
            )
        request_header_versions = [2 if schema.is_flexible else 1 for schema in request_schemas]
        response_header_versions = [1 if schema.is_flexible else 0 for schema in response_schemas]
        if self is ApiKeys.CONTROLLED_SHUTDOWN:
            request_header_versions[0] = 0
        if self is ApiKeys.API_VERSIONS:
            # A client that asks with a version the broker lacks must be able to read the answer.
            response_header_versions = [0] * len(response_schemas)
        # Whole lists: another thread may look into them at any moment.
        self._request_header_versions = request_header_versions
        self._response_header_versions = response_header_versions
        self._requires_delayed_allocation = any(schema.retains_buffer_reference() for schema in request_schemas)
        self._response_schemas = response_schemas
        self._request_schemas = request_schemas  # last: it tells other threads that the rest is there
        return request_schemas

    def latest_version(self) -> int:
        """The highest version there is a schema for."""
        return len(self.request_schemas) - 1

    def oldest_version(self) -> int:
        """The lowest version: 0 for every key."""
        return 0

    def is_version_supported(self, api_version: int) -> bool:
        """Whether there is a schema for the version."""
        return 0 <= api_version < len(self.request_schemas)

    def request_schema(self, version: int) -> Schema:
        """The request's schema; ValueError for a version without one."""
        return self._schema_for(self.request_schemas, version)

    def response_schema(self, version: int) -> Schema:
        """The response's schema; ValueError for a version without one."""
        return self._schema_for(self.response_schemas, version)

    def _schema_for(self, schemas: list[Schema], version: int) -> Schema:
        if not 0 <= version < len(schemas):
            raise ValueError(f"Invalid version for API key {self}: {version}")
        return schemas[version]

    def request_header_version(self, api_version: int) -> int:
        """0 without a client id, 1 with one, 2 with tagged fields."""
        versions = self._request_header_versions
        if 0 <= api_version < len(versions):
            return versions[api_version]
        if not self.is_version_supported(api_version):
            # An ApiVersions request of a version to come: its header is read as far as all versions agree.
            return 1
        return self._request_header_versions[api_version]

    def response_header_version(self, api_version: int) -> int:
        """0, or 1 with tagged fields."""
        versions = self._response_header_versions
        if 0 <= api_version < len(versions):
            return versions[api_version]
        if not self.is_version_supported(api_version):
            return 0
        return self._response_header_versions[api_version]

    def parse_request(self, version: int, buffer: Any) -> Struct:
        """The body of a request; SchemaException if the bytes do not fit."""
        return self.request_schema(version).read(buffer)

    def parse_response(self, version: int, buffer: Any) -> Struct:
        """The body of a response; SchemaException if the bytes do not fit."""
        try:
            return self.response_schema(version).read(buffer)
        except SchemaException:
            # A broker that lacks the version of an ApiVersions request answers in version 0.
            if self is not ApiKeys.API_VERSIONS or version == 0:
                raise
            return self.response_schema(0).read(buffer)

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
        ApiKeys._ID_TO_TYPE[_made.id] = _made
ApiKeys.MAX_API_KEY = max(ApiKeys._ID_TO_TYPE)
