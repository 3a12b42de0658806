"""What a Fetch asks for, apart from its partitions.

Mirrors: storage/src/main/java/org/apache/kafka/storage/internals/log/FetchParams.java @ 3.7.1
Read next: server/replica_manager.py (fetch_messages), server/delayed_fetch.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.api.request_or_response import Request

if TYPE_CHECKING:
    from kafka_py.common.requests.isolation_level import IsolationLevel


class FetchParams:
    """Who fetches, how long he will wait and for how many bytes; and what follows from who he is.

    A valid broker id as `replica_id` is a follower: it may read up to the log end, and its offsets are its acks. With
    a hard limit (Fetch below version 3) no batch may exceed `max_bytes`; else the first one that there is may.

    Mirrors: storage/src/main/java/org/apache/kafka/storage/internals/log/FetchParams.java/FetchParams @ 3.7.1
    Differs: its FetchIsolation is two fields, `fetch_only_committed` and `isolation_level`, as 1.1.1 reads; what is
        derived is kept, for it is asked for with every partition. Replica epochs and rack-aware reading came later.
    """

    __slots__ = (
        "fetch_only_committed",
        "fetch_only_leader",
        "hard_max_bytes_limit",
        "is_from_follower",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "replica_id",
    )

    def __init__(
        self,
        request_version: int,
        replica_id: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        isolation_level: IsolationLevel,
    ) -> None:
        self.replica_id = replica_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.hard_max_bytes_limit = request_version <= 2
        self.is_from_follower = from_follower = replica_id >= 0
        is_future_replica = replica_id == Request.FUTURE_LOCAL_REPLICA_ID
        self.fetch_only_leader = not is_future_replica and replica_id != Request.DEBUGGING_CONSUMER_ID
        self.fetch_only_committed = not from_follower and not is_future_replica
