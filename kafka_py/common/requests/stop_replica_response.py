"""What became of the replicas to stop.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/StopReplicaResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.partitions_response import PartitionsResponse


class StopReplicaResponse(PartitionsResponse, key=ApiKeys.STOP_REPLICA, latest=2, flexible=2, init=False):
    """The error of the whole and of each partition.

    Mirrors: org.apache.kafka.common.requests.StopReplicaResponse
    """
