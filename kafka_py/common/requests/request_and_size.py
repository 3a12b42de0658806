"""A parsed request and the size it had.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/RequestAndSize.java @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.common.requests.abstract_request import AbstractRequest


class RequestAndSize(NamedTuple):
    """A request and the number of bytes of its body.

    Mirrors: org.apache.kafka.common.requests.RequestAndSize
    """

    request: AbstractRequest
    size: int
