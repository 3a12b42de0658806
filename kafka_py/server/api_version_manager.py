"""Which versions of which APIs a listener serves.

Mirrors: core/src/main/scala/kafka/server/ApiVersionManager.scala @ 3.7.1
Read next: server/kafka_apis.py (the table of handlers); network/processor.py (who asks)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.network.request_channel import RequestChannel


class VersionRange(Protocol):
    """Whatever tells a lowest and a highest version: the lines of the table of handlers do."""

    @property
    def min_version(self) -> int:
        """The lowest version served."""

    @property
    def max_version(self) -> int:
        """The highest version served."""


# The highest versions that 1.1.1 has, where later ones are served; None: it lacks the API. ApiVersions, which asks for
# these, is answered in all its versions.
MAX_VERSIONS_OF_1_1_1: dict[ApiKeys, int | None] = {
    ApiKeys.PRODUCE: 5,
    ApiKeys.FETCH: 7,
    ApiKeys.LIST_OFFSETS: 2,
    ApiKeys.METADATA: 5,
    ApiKeys.LEADER_AND_ISR: 1,
    ApiKeys.STOP_REPLICA: 0,
    ApiKeys.UPDATE_METADATA: 4,
    ApiKeys.CONTROLLED_SHUTDOWN: 1,
    ApiKeys.OFFSET_COMMIT: 3,
    ApiKeys.OFFSET_FETCH: 3,
    ApiKeys.FIND_COORDINATOR: 1,
    ApiKeys.JOIN_GROUP: 2,
    ApiKeys.HEARTBEAT: 1,
    ApiKeys.LEAVE_GROUP: 1,
    ApiKeys.SYNC_GROUP: 1,
    ApiKeys.DESCRIBE_GROUPS: 1,
    ApiKeys.LIST_GROUPS: 1,
    ApiKeys.INIT_PRODUCER_ID: 0,
    ApiKeys.OFFSET_FOR_LEADER_EPOCH: 0,
    ApiKeys.ADD_PARTITIONS_TO_TXN: 0,
    ApiKeys.ADD_OFFSETS_TO_TXN: 0,
    ApiKeys.END_TXN: 0,
    ApiKeys.TXN_OFFSET_COMMIT: 0,
    ApiKeys.DELETE_GROUPS: 0,
    ApiKeys.ELECT_LEADERS: None,
    ApiKeys.ALTER_PARTITION_REASSIGNMENTS: None,
    ApiKeys.LIST_PARTITION_REASSIGNMENTS: None,
    ApiKeys.OFFSET_DELETE: None,
}


# What brokers send each other besides, up to inter.broker.protocol.version 2.5: served also where it is offered to
# nobody, since brokers do not ask what there is.
BROKER_VERSIONS: dict[ApiKeys, range] = {
    ApiKeys.FETCH: range(8, 12),
    ApiKeys.LIST_OFFSETS: range(3, 6),
    ApiKeys.LEADER_AND_ISR: range(2, 5),
    ApiKeys.STOP_REPLICA: range(1, 3),
    ApiKeys.UPDATE_METADATA: range(5, 7),
    ApiKeys.CONTROLLED_SHUTDOWN: range(2, 4),
    ApiKeys.OFFSET_FOR_LEADER_EPOCH: range(1, 4),
    ApiKeys.ADD_PARTITIONS_TO_TXN: range(
        AddPartitionsToTxnRequest.LAST_BROKER_VERSION, AddPartitionsToTxnRequest.LAST_BROKER_VERSION + 1
    ),
}


class Versions(NamedTuple):
    """The range of versions of one API."""

    min_version: int
    max_version: int


def ranges_at(api_level: str, handlers: Mapping[ApiKeys, VersionRange]) -> dict[ApiKeys, VersionRange]:
    """What a broker of that release (kafka.py.api.level) would serve of what the handlers can."""
    if api_level != "1.1.1":
        return dict(handlers)
    ranges: dict[ApiKeys, VersionRange] = {}
    for key, handler in handlers.items():
        highest = MAX_VERSIONS_OF_1_1_1.get(key, handler.max_version)
        if highest is not None:
            ranges[key] = Versions(handler.min_version, min(highest, handler.max_version))
    return ranges


class ApiVersionManager:
    """Answers ApiVersions, and tells the network layer which requests to let in.

    Mirrors: kafka.server.ApiVersionManager @ 3.7.1
    Left out: features, enableUnstableLastVersion -- cluster-wide features are KRaft's; no version here is unstable
    """

    @property
    @abstractmethod
    def listener_type(self) -> str:
        """What the listeners are for; appears in log prefixes."""

    @property
    @abstractmethod
    def enabled_apis(self) -> list[ApiKeys]:
        """The APIs that are served."""

    @abstractmethod
    def api_version_response(self, throttle_time_ms: int) -> ApiVersionsResponse:
        """The answer to an ApiVersions request."""

    @abstractmethod
    def is_api_enabled(self, api_key: ApiKeys | None, api_version: int) -> bool:
        """Whether a request is to be let in.

        Every ApiVersions request is: a client that asks with a version to come must be told what there is.
        """

    def new_request_metrics(self) -> RequestChannel.Metrics:
        """Metrics for the requests that may come."""
        return RequestChannel.Metrics(self.enabled_apis)


class SimpleApiVersionManager(ApiVersionManager):
    """Serves what a table of handlers says.

    Mirrors: kafka.server.SimpleApiVersionManager @ 3.7.1
    Left out: features -- see ApiVersionManager
    Differs: the ranges are those of the handlers, so that nothing is offered that is not there.
    """

    def __init__(self, listener_type: str, handlers: Mapping[ApiKeys, VersionRange]) -> None:
        self._listener_type = listener_type
        ordered = sorted(handlers.items(), key=lambda item: item[0].id)
        self._ranges = {key: (handler.min_version, handler.max_version) for key, handler in ordered}
        self._enabled_apis = list(self._ranges)
        self._api_versions = [ApiVersionsResponse.ApiVersion(key.id, *self._ranges[key]) for key, _ in ordered]
        self._unthrottled = ApiVersionsResponse(0, Errors.NONE, self._api_versions)

    @property
    def listener_type(self) -> str:
        """What the listeners are for; appears in log prefixes."""
        return self._listener_type

    @property
    def enabled_apis(self) -> list[ApiKeys]:
        """The APIs that have a handler."""
        return self._enabled_apis

    def api_version_response(self, throttle_time_ms: int) -> ApiVersionsResponse:
        """The ranges of all handlers; the same object for all who need not be throttled."""
        if throttle_time_ms == ApiVersionsResponse.DEFAULT_THROTTLE_TIME:
            return self._unthrottled
        return ApiVersionsResponse(throttle_time_ms, Errors.NONE, self._api_versions)

    def is_api_enabled(self, api_key: ApiKeys | None, api_version: int) -> bool:
        """Whether there is a handler for the version; any version of ApiVersions is let in."""
        if api_key is ApiKeys.API_VERSIONS:
            return True
        found = self._ranges.get(api_key) if api_key is not None else None
        if found is None or api_key is None:
            return False
        return found[0] <= api_version <= found[1] or api_version in BROKER_VERSIONS.get(api_key, ())
