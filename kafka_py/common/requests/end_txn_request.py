"""Commit or abort the transaction.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/EndTxnRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage


class EndTxnRequest(RequestMessage, key=ApiKeys.END_TXN, latest=1):
    """Producer, and whether to commit.

    Mirrors: org.apache.kafka.common.requests.EndTxnRequest
    """

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64, "The producer id that the transactional id has now")
    producer_epoch: int = field(INT16)
    transaction_result: bool = field(BOOLEAN, "Whether to commit")
