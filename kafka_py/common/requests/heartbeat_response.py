"""Whether the member still belongs to the group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/HeartbeatResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

HEARTBEAT_RESPONSE_V0 = Schema(ERROR_CODE)

HEARTBEAT_RESPONSE_V1 = Schema(THROTTLE_TIME_MS, ERROR_CODE)


class HeartbeatResponse(SchemaBackedResponse):
    """An error: REBALANCE_IN_PROGRESS calls the member back.

    Mirrors: org.apache.kafka.common.requests.HeartbeatResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.HEARTBEAT

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [HEARTBEAT_RESPONSE_V0, HEARTBEAT_RESPONSE_V1]
