"""What one read of a log returns.

Mirrors: core/src/main/scala/kafka/server/FetchDataInfo.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_py.common.record.records import Records
    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.server.log_offset_metadata import LogOffsetMetadata


class FetchDataInfo(NamedTuple):
    """The records found (a file region or nothing), where they start, and the aborted transactions among them.

    Mirrors: kafka.server.FetchDataInfo
    Thread: any; immutable.
    """

    fetch_offset_metadata: LogOffsetMetadata
    records: Records
    first_entry_incomplete: bool = False
    aborted_transactions: list[FetchResponse.AbortedTransaction] | None = None
