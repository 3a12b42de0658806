"""Versions of the inter-broker protocol, and the state of a partition."""

from __future__ import annotations

import pytest

from kafka_py.api.api_version import (
    KAFKA_0_8_0,
    KAFKA_0_10_0_IV0,
    KAFKA_0_10_0_IV1,
    KAFKA_1_1_IV0,
    KAFKA_2_5_IV0,
    ApiVersion,
)
from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.api.request_or_response import Request
from kafka_py.common.record.record_format import RecordFormat


@pytest.mark.ported("ApiVersionTest.testApply")
@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.8.0", "0.8.0.X"),
        ("0.8.0.1", "0.8.0.X"),
        ("0.10.0-IV0", "0.10.0-IV0"),
        ("0.10.0", "0.10.0-IV1"),
        ("0.10.0.1", "0.10.0-IV1"),
        ("0.10.1", "0.10.1-IV2"),
        ("0.11.0.3", "0.11.0-IV2"),
        ("1.0.0", "1.0-IV0"),
        ("1.0.1", "1.0-IV0"),
        ("1.1-IV0", "1.1-IV0"),
        ("1.1.1", "1.1-IV0"),
        ("2.1-IV1", "2.1-IV1"),
        ("2.1", "2.1-IV2"),
        ("2.5.1", "2.5-IV0"),
    ],
)
def test_apply(text: str, version: str) -> None:
    assert str(ApiVersion.apply(text)) == version


@pytest.mark.parametrize("text", ["", "1", "2.6", "0.8", "0.7.0", "1.1-IV1", "x"])
def test_unknown_version(text: str) -> None:
    with pytest.raises(ValueError, match=f"Version `{text}` is not a valid version"):
        ApiVersion.apply(text)


def test_order() -> None:
    assert ApiVersion.latest_version() is KAFKA_2_5_IV0
    assert KAFKA_0_10_0_IV0 < KAFKA_0_10_0_IV1 <= KAFKA_1_1_IV0
    assert KAFKA_1_1_IV0 >= KAFKA_0_8_0 != KAFKA_0_10_0_IV0
    assert [v.id for v in sorted(ApiVersion.all_versions())] == list(range(27))


@pytest.mark.ported("ApiVersionTest.testMinVersionForMessageFormat", changes="there are three formats")
def test_message_formats() -> None:
    formats = [RecordFormat.V0, RecordFormat.V1, RecordFormat.V2]
    assert [ApiVersion.min_version_for_message_format(f) for f in formats] == ["0.8.0", "0.10.0", "0.11.0"]
    for record_format in formats:
        first = ApiVersion.apply(ApiVersion.min_version_for_message_format(record_format))
        assert first.message_format_version is record_format


def test_leader_and_isr() -> None:
    created = LeaderAndIsr.create(1, [1, 2])
    assert str(created) == "LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1, 2), zkVersion=0)"
    assert created.with_zk_version(5) == LeaderAndIsr(1, 0, [1, 2], 5)
    assert created.new_leader(2) == LeaderAndIsr(2, 1, [1, 2], 0)
    assert created.new_leader_and_isr(2, [2]) == LeaderAndIsr(2, 1, [2], 0)
    assert created.new_epoch_and_zk_version == LeaderAndIsr(1, 1, [1, 2], 0)
    assert LeaderAndIsr.during_delete([3]) == LeaderAndIsr(-2, 0, [3], 0)


def test_broker_ids() -> None:
    ids = (Request.ORDINARY_CONSUMER_ID, Request.DEBUGGING_CONSUMER_ID, Request.FUTURE_LOCAL_REPLICA_ID)
    assert ids == (-1, -2, -3)
    assert [Request.is_valid_broker_id(i) for i in (-1, 0, 7)] == [False, True, True]
