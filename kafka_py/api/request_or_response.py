"""Replica ids that are no broker's.

Mirrors: core/src/main/scala/kafka/api/RequestOrResponse.scala @ 1.1.1
Left out there: RequestOrResponse, the base of the Scala clients' own requests, which are gone.
"""

from __future__ import annotations

from typing import ClassVar


class Request:
    """What a fetch says of itself in its replica id when it does not come from a follower.

    Mirrors: kafka.api.Request
    """

    ORDINARY_CONSUMER_ID: ClassVar[int] = -1
    DEBUGGING_CONSUMER_ID: ClassVar[int] = -2
    FUTURE_LOCAL_REPLICA_ID: ClassVar[int] = -3

    @staticmethod
    def is_valid_broker_id(broker_id: int) -> bool:
        """Whether a replica id is a broker's: brokers' ids are not negative."""
        return broker_id >= 0
