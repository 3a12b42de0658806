"""What a coordinator keeps of a member."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.coordinator.group.group_results import JoinGroupResult, SyncGroupResult
from kafka_py.coordinator.group.member_metadata import MemberMetadata, MemberSummary

INSTANCE = "groupInstanceId"
BOTH = [("range", b"\x00"), ("roundrobin", b"\x01")]


def member(protocols: list[tuple[str, bytes]], instance_id: str | None = INSTANCE) -> MemberMetadata:
    return MemberMetadata(
        "memberId", "groupId", instance_id, "clientId", "clientHost", 60000, 10000, "consumer", protocols
    )


@pytest.mark.ported("MemberMetadataTest.testMatchesSupportedProtocols")
def test_it_matches_what_says_the_same_in_the_same_order() -> None:
    made = member([("range", b"")])
    assert made.matches([("range", b"")])
    assert not made.matches([("range", b"\x00")])
    assert not made.matches([("roundrobin", b"")])
    assert not made.matches([("range", b""), ("roundrobin", b"")])
    assert not member(BOTH).matches(BOTH[::-1])


@pytest.mark.ported("MemberMetadataTest.testVoteForPreferredProtocol")
def test_it_votes_for_what_it_likes_best_of_the_candidates() -> None:
    assert member(BOTH).vote({"range", "roundrobin"}) == "range"
    assert member(BOTH[::-1]).vote({"range", "roundrobin"}) == "roundrobin"
    assert member(BOTH).vote({"blah", "roundrobin"}) == "roundrobin"


@pytest.mark.ported("MemberMetadataTest.testVoteRaisesOnNoSupportedProtocols")
def test_it_votes_for_nothing_it_does_not_know() -> None:
    with pytest.raises(IllegalArgumentException, match="any of the candidate protocols"):
        member(BOTH).vote({"blah"})


@pytest.mark.ported("MemberMetadataTest.testMetadata")
def test_it_says_something_in_each_protocol() -> None:
    assert [member(BOTH).metadata(name) for name in ("range", "roundrobin")] == [b"\x00", b"\x01"]


@pytest.mark.ported("MemberMetadataTest.testMetadataRaisesOnUnsupportedProtocol")
def test_it_says_nothing_in_a_protocol_it_does_not_know() -> None:
    with pytest.raises(IllegalArgumentException, match="does not support protocol"):
        member(BOTH).metadata("blah")


@pytest.mark.ported("MemberMetadataTest.testHasValidGroupInstanceId")
def test_who_names_itself_is_static() -> None:
    assert member(BOTH).is_static_member
    assert member(BOTH).group_instance_id == INSTANCE
    assert not member(BOTH, None).is_static_member


def test_a_stable_groups_member_is_described_with_what_it_said_and_got() -> None:
    made = member(BOTH)
    made.assignment = b"mine"
    who = ("memberId", INSTANCE, "clientId", "clientHost")
    assert made.summary("roundrobin") == MemberSummary(*who, b"\x01", b"mine")
    assert made.summary_no_metadata() == MemberSummary(*who, b"", b"")


def ignore(_: JoinGroupResult | SyncGroupResult) -> None:
    """An answer nobody looks at."""


@pytest.mark.parametrize("waits_for", ["join", "sync"])
def test_who_waits_for_us_need_not_send_heartbeats_unless_it_is_new(waits_for: str) -> None:
    """A new member is given up if it waits too long for its first answer (KAFKA-7610)."""
    made = member(BOTH)
    satisfied = [made.has_satisfied_heartbeat]
    if waits_for == "join":
        made.awaiting_join_callback = ignore
    else:
        made.awaiting_sync_callback = ignore
    satisfied.append(made.has_satisfied_heartbeat)
    made.is_new = True
    satisfied.append(made.has_satisfied_heartbeat)
    made.heartbeat_satisfied = True
    satisfied.append(made.has_satisfied_heartbeat)
    assert satisfied == [False, True, False, True]
