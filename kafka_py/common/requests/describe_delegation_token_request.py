"""Which delegation tokens are there.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeDelegationTokenRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, field
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.token_principal import TokenPrincipal


class DescribeDelegationTokenRequest(RequestMessage, key=ApiKeys.DESCRIBE_DELEGATION_TOKEN, latest=2, flexible=2):
    """Owners; None asks for all.

    Mirrors: org.apache.kafka.common.requests.DescribeDelegationTokenRequest
    """

    owners: list[TokenPrincipal] | None = field(ListOf(TokenPrincipal), nullable=0)
