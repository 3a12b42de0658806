"""A broker asks the controller to move its leaderships away.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ControlledShutdownRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.controlled_shutdown_response import ControlledShutdownResponse

BROKER_ID_KEY_NAME = "broker_id"

CONTROLLED_SHUTDOWN_REQUEST_V0 = Schema(Field(BROKER_ID_KEY_NAME, INT32, "The broker's id"))

CONTROLLED_SHUTDOWN_REQUEST_V1 = CONTROLLED_SHUTDOWN_REQUEST_V0


class ControlledShutdownRequest(AbstractRequest):
    """The id of the broker that is about to stop.

    Mirrors: org.apache.kafka.common.requests.ControlledShutdownRequest
    """

    __slots__ = ("_broker_id",)

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CONTROLLED_SHUTDOWN

    class Builder(AbstractRequest.Builder):
        """Holds the request of one version.

        Mirrors: org.apache.kafka.common.requests.ControlledShutdownRequest.Builder
        """

        def __init__(self, broker_id: int, desired_version: int) -> None:
            super().__init__(ApiKeys.CONTROLLED_SHUTDOWN, desired_version)
            self._broker_id = broker_id

        def build(self, version: int | None = None) -> ControlledShutdownRequest:
            return ControlledShutdownRequest(self._version_or_latest(version), self._broker_id)

        def __str__(self) -> str:
            return f"(type=ControlledShutdownRequest, brokerId={self._broker_id})"

    def __init__(self, version: int, broker_id: int) -> None:
        super().__init__(version)
        self._broker_id = broker_id

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CONTROLLED_SHUTDOWN_REQUEST_V0, CONTROLLED_SHUTDOWN_REQUEST_V1]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> ControlledShutdownRequest:
        return cls(version, struct.get(BROKER_ID_KEY_NAME))

    def to_struct(self) -> Struct:
        schema = ApiKeys.CONTROLLED_SHUTDOWN.request_schema(self._version)
        return Struct(schema).set(BROKER_ID_KEY_NAME, self._broker_id)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ControlledShutdownResponse:
        return ControlledShutdownResponse(Errors.for_exception(e), set())

    def broker_id(self) -> int:
        """The broker that is about to stop."""
        return self._broker_id
