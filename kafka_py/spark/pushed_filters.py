"""Conditions of a query that say which partitions and offsets need not be read at all.

Topic, partition and offset bound what is read exactly. A lower bound of the time becomes an offset by the time indexes:
all records before it are older. An upper bound does not, as times may go back; Spark applies it to the rows.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark.offsets import KafkaOffsetRange
from kafka_py.spark.transport import Transport

NEVER_NULL = ("topic", "partition", "offset", "timestamp", "timestampType")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_COMPARISONS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}


class PushedFilters:
    """What was pushed down so far, all of which holds for the rows that are wanted.

    Thread: its reader's
    """

    def __init__(self) -> None:
        self._partition_tests: list[Callable[[TopicPartition], bool]] = []
        self._from_offset = 0  # thread: of its owner
        self._until_offset: int | None = None  # thread: of its owner
        # ms
        self._since: int | None = None  # thread: of its owner

    def add(self, condition: Filter) -> bool:
        """Use a condition if it can be used; whether no row needs to be tested for it any more."""
        attribute: tuple[str, ...] = getattr(condition, "attribute", ())
        if len(attribute) != 1:
            return False
        name = attribute[0]
        if isinstance(condition, IsNotNull):
            return name in NEVER_NULL
        value: Any = getattr(condition, "value", None)
        if value is None:
            return False
        if name in ("topic", "partition"):
            return self._add_partition_test(name, type(condition), value)
        if name == "offset":
            return self._add_offsets(type(condition), value)
        if name == "timestamp":
            self._add_time(type(condition), value)
        return False

    def _add_partition_test(self, name: str, kind: type[Filter], value: Any) -> bool:
        if kind is In:
            wanted = frozenset(value)
            self._partition_tests.append(lambda tp: getattr(tp, name) in wanted)
            return True
        compare = _COMPARISONS.get(kind)
        if compare is None or (name == "topic" and kind is not EqualTo):
            return False
        self._partition_tests.append(lambda tp: compare(getattr(tp, name), value))
        return True

    def _add_offsets(self, kind: type[Filter], value: Any) -> bool:
        if kind is In:
            wanted = [offset for offset in value if offset is not None]
            if wanted:
                self._restrict(min(wanted), max(wanted) + 1)
            return False
        bounds: dict[type[Filter], tuple[int, int | None]] = {
            EqualTo: (value, value + 1),
            GreaterThan: (value + 1, None),
            GreaterThanOrEqual: (value, None),
            LessThan: (0, value),
            LessThanOrEqual: (0, value + 1),
        }
        found = bounds.get(kind)
        if found is None:
            return False
        self._restrict(*found)
        return True

    def _restrict(self, from_offset: int, until_offset: int | None) -> None:
        self._from_offset = max(self._from_offset, from_offset)
        if until_offset is not None:
            known = self._until_offset
            self._until_offset = until_offset if known is None else min(known, until_offset)

    def _add_time(self, kind: type[Filter], value: datetime.datetime) -> None:
        if kind in (EqualTo, GreaterThan, GreaterThanOrEqual):
            microseconds = (value - _EPOCH) // _MICROSECOND
            since = -(-microseconds // 1000)  # records have whole milliseconds
            self._since = since if self._since is None else max(self._since, since)

    def narrow(self, offset_range: KafkaOffsetRange, transport: Transport, with_time: bool = True) -> KafkaOffsetRange:
        """What is left of a range, maybe nothing. Time can be used only for what is below the high watermark."""
        tp, start, until = offset_range
        if not all(test(tp) for test in self._partition_tests):
            return KafkaOffsetRange(tp, start, start)
        start = max(start, self._from_offset)
        if self._until_offset is not None:
            until = min(until, self._until_offset)
        if with_time and self._since is not None and start < until:
            found = transport.offset_for_timestamp(tp.topic, tp.partition, self._since)
            start = until if found is None else max(start, found)
        return KafkaOffsetRange(tp, start, max(start, until))
