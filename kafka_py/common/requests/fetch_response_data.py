"""The layout of the answer to Fetch.

Mirrors: clients/src/main/resources/common/message/FetchResponse.json @ 2.5.1, under 1.1.1's names
Read next: fetch_response.py, which writes it without these objects
"""

from __future__ import annotations

from typing import Any

from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, RECORDS, STRING


class FetchResponseData(Message, latest=11):
    """What was read, by topic and partition."""

    class Topic(Message):
        """What was read of a topic."""

        class Partition(Message):
            """What was read of a partition."""

            class Header(ErrorEntry):
                """All but the records."""

                class AbortedTransaction(Message):
                    """A transaction whose records a read_committed consumer must drop."""

                    producer_id: int = field(INT64)
                    first_offset: int = field(INT64)

                partition: int = field(INT32)
                error_code: int = field(INT16)
                high_watermark: int = field(INT64, "The first offset that is not yet committed")
                last_stable_offset: int = field(
                    INT64, "The first offset whose transaction is not yet decided", since=4, default=-1
                )
                log_start_offset: int = field(INT64, "The first offset of the log", since=5, default=-1)
                aborted_transactions: list[AbortedTransaction] | None = field(
                    ListOf(AbortedTransaction), since=4, nullable=4, default=None
                )
                preferred_read_replica: int = field(
                    INT32, "The replica to read from next, -1 for the leader", since=11, default=-1
                )

            partition_header: Header = field(Header)
            record_set: Any = field(RECORDS)

        topic: str = field(STRING)
        partition_responses: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, since=1, default=0)
    error_code: int = field(INT16, "The fetch session's", since=7, default=0)
    session_id: int = field(INT32, since=7, default=0)
    responses: list[Topic] = field(ListOf(Topic))
