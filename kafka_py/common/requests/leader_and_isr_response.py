"""What became of the leaders and followers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaderAndIsrResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.partitions_response import PartitionsResponse


class LeaderAndIsrResponse(PartitionsResponse, key=ApiKeys.LEADER_AND_ISR, latest=4, flexible=4, init=False):
    """The error of the whole and of each partition.

    Mirrors: org.apache.kafka.common.requests.LeaderAndIsrResponse
    """
