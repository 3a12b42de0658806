"""LogOffsetMetadata: comparing places."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import KafkaException
from kafka_py.server.log_offset_metadata import LogOffsetMetadata


def test_comparisons() -> None:
    early, late, other = LogOffsetMetadata(5, 0, 100), LogOffsetMetadata(9, 0, 300), LogOffsetMetadata(12, 10, 50)
    assert late.offset_diff(early) == 4
    assert late.position_diff(early) == 200
    assert early.on_same_segment(late)
    assert early.on_older_segment(other)
    assert not other.on_older_segment(early)
    with pytest.raises(KafkaException, match="not on the same segment"):
        other.position_diff(early)


def test_offset_without_a_place() -> None:
    bare = LogOffsetMetadata(7)
    assert bare.message_offset_only
    assert not LogOffsetMetadata.UNKNOWN_OFFSET_METADATA.message_offset_only
    assert str(bare) == "7 [-1 : -1]"
    for compare in (bare.on_same_segment, bare.on_older_segment, bare.position_diff):
        with pytest.raises(KafkaException, match="only has message offset info"):
            compare(LogOffsetMetadata(1, 0, 0))
