"""Change these configurations and leave the others.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/IncrementalAlterConfigsRequest.java @ 2.5.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class IncrementalAlterConfigsRequest(RequestMessage, key=ApiKeys.INCREMENTAL_ALTER_CONFIGS, latest=1, flexible=1):
    """Operations by resource and configuration.

    Mirrors: org.apache.kafka.common.requests.IncrementalAlterConfigsRequest @ 2.5.1
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"responses": "resources"}

    class Resource(Message):
        """What to change of a resource."""

        class Config(Message):
            """What to change of a configuration."""

            name: str = field(STRING)
            config_operation: int = field(INT8, "0 set, 1 delete, 2 append, 3 subtract")
            value: str | None = field(NULLABLE_STRING)

        resource_type: int = field(INT8)
        resource_name: str = field(STRING)
        configs: list[Config] = field(ListOf(Config))

    resources: list[Resource] = field(ListOf(Resource))
    validate_only: bool = field(BOOLEAN, "Whether to check only")
