"""A transaction is about to commit offsets of a group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddOffsetsToTxnRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT16, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage


class AddOffsetsToTxnRequest(RequestMessage, key=ApiKeys.ADD_OFFSETS_TO_TXN, latest=1):
    """Producer and group.

    Mirrors: org.apache.kafka.common.requests.AddOffsetsToTxnRequest
    """

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64, "The producer id that the transactional id has now")
    producer_epoch: int = field(INT16)
    group_id: str = field(STRING)
