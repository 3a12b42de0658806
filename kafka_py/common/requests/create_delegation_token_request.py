"""Issue a delegation token.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateDelegationTokenRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, field
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.token_principal import TokenPrincipal


class CreateDelegationTokenRequest(RequestMessage, key=ApiKeys.CREATE_DELEGATION_TOKEN, latest=2, flexible=2):
    """Who may renew it, and its longest life.

    Mirrors: org.apache.kafka.common.requests.CreateDelegationTokenRequest
    """

    renewers: list[TokenPrincipal] = field(ListOf(TokenPrincipal))
    max_life_time: int = field(INT64, "How long the token may live, in ms")
