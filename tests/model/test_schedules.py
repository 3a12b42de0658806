"""Schedules that did harm: each with the rule under which it did, and without it.

Those marked so were found by the search; `python -m tests.model` prints a new one in this form.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_py.common.topic_partition import TopicPartition
from tests.model import old_rules
from tests.model.interleavings import Run

PROTOCOLS = pytest.mark.parametrize("protocol", ["1.1", "2.5"])
Model = Callable[..., Run]


def after(run: Run, *steps: str) -> str:
    """What is broken after these steps, as far as they are possible, and after all has come to rest; "" if nothing."""
    run.as_far_as_possible(*steps)
    if not run.broken:
        run.settle()
    return "; ".join(run.broken)


# found by the search: a follower that was elected and deposed before it appended, and has nothing in common with the
# leader; asked for its older epoch the leader has nothing to say
NOTHING_IN_COMMON = (
    *("elect 2", "tell 2", "append 1", "append 2", "tell 1", "elect 1", "tell 1", "elect 2", "tell 2", "tell 2"),
    *("tell 1", "send 1", "serve 1", "take 1", "serve 1", "take 1", "serve 1", "take 1", "serve 1", "take 1"),
)
# found by the search: the log is cut in the middle of a batch, and the follower acknowledges what it lacks
CUT_WITHIN_A_BATCH = (
    *("elect 3", "elect 1", "elect 3", "elect 2", "tell 1", "tell 1", "crash 2", "start 2", "append 1", "tell 1"),
    *("tell 3", "tell 1", "append 3", "tell 1", "tell 3", "tell 3", "tell 3", "tell 3", "send 3", "serve 3", "take 3"),
    *("serve 3", "take 3", "serve 3", "take 3", "serve 3", "take 3", "send 3", "serve 3", "take 3"),
)
# found by the search: a broker leads an epoch in which it appends nothing, and then follows
AN_EPOCH_WITHOUT_RECORDS = (
    *("crash 1", "start 1", "crash 3", "start 3", "tell 2", "tell 1", "tell 1", "append 2", "send 1", "tell 2"),
    *("serve 1", "take 1", "serve 1", "take 1", "send 1", "serve 1", "elect 1", "tell 1", "append 2", "elect 2"),
    *("tell 1", "send 1", "serve 1", "take 1", "serve 1", "take 1"),
)
# found by the search: broker 3 was elected and deposed again, of which its leader has not heard when it is asked
AN_OUTDATED_LEADER_IS_ASKED = (
    *("crash 2", "start 2", "tell 3", "elect 3", "send 3", "serve 3", "append 1", "take 3", "elect 1", "tell 1"),
    *("serve 3", "take 3", "send 3", "serve 3", "tell 3", "tell 3", "send 3", "serve 3", "take 3"),
)
# found by the search: broker 2 hears of two elections at once and takes its leader for the same
A_MISSED_EPOCH = (
    *("send 2", "crash 3", "start 3", "serve 2", "elect 2", "tell 3", "send 3", "serve 3", "tell 2", "take 2"),
    *("append 1", "serve 2", "take 3", "serve 3", "take 2", "send 2", "serve 2", "take 3", "send 3", "serve 3"),
    *("elect 1", "tell 2", "tell 2", "send 2", "serve 2", "take 2"),
)
# 3 is not in the ISR and joins it; ZooKeeper's answer is lost, and 2 has a record that 3 lacks
AN_ISR_WITHOUT_ANSWER = (
    *("pass", "send 2", "serve 2", "take 2", "serve 2", "shrink 1", "append 1", "break 1", "send 3", "serve 3"),
    *("take 3", "serve 3", "take 2", "send 2", "serve 2", "take 2", "send 2", "serve 2"),
)
# 1 and 2 have a record that is acknowledged, 3 is not in the ISR; 2 is elected, and its high watermark lags
A_REPLICA_JOINS_A_NEW_LEADER = (
    *("pass", "send 2", "serve 2", "take 2", "serve 2", "shrink 1", "append 1", "take 2", "send 2", "serve 2"),
    *("take 2", "send 2", "serve 2", "elect 2", "tell 2", "tell 3", "send 3", "serve 3", "take 3", "serve 3"),
)
# all have a record; 3 gets another one from 2, which is elected and deposed; 1 leads again, and has appended nothing
A_NEW_LEADER_WITHOUT_RECORDS = (
    *("append 1", "send 2", "serve 2", "take 2", "serve 2", "take 2", "send 2", "serve 2"),
    *("send 3", "serve 3", "take 3", "serve 3", "take 3", "send 3", "serve 3", "elect 2", "tell 2", "tell 3"),
    *("append 2", "send 3", "serve 3", "take 3", "serve 3", "take 3", "elect 1", "tell 1", "tell 1", "tell 3"),
    *("send 3", "serve 3", "take 3", "serve 3", "take 3", "serve 3", "take 3"),
)
SCHEDULES = {
    "nothing in common": NOTHING_IN_COMMON,
    "cut within a batch": CUT_WITHIN_A_BATCH,
    "an epoch without records": AN_EPOCH_WITHOUT_RECORDS,
    "an outdated leader is asked": AN_OUTDATED_LEADER_IS_ASKED,
    "a missed epoch": A_MISSED_EPOCH,
    "an ISR without answer": AN_ISR_WITHOUT_ANSWER,
    "a replica joins a new leader": A_REPLICA_JOINS_A_NEW_LEADER,
    "a new leader without records": A_NEW_LEADER_WITHOUT_RECORDS,
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_none_of_them_does_harm(new_model: Model, name: str) -> None:
    assert after(new_model(), *SCHEDULES[name]) == ""


@PROTOCOLS
@pytest.mark.parametrize("steps", [NOTHING_IN_COMMON, CUT_WITHIN_A_BATCH])
def test_kafka_6361(new_model: Model, monkeypatch: pytest.MonkeyPatch, protocol: str, steps: tuple[str, ...]) -> None:
    assert after(new_model(protocol), *steps) == ""
    old_rules.takes_the_first_answer_about_epochs(monkeypatch)
    assert after(new_model(protocol), *steps) in (
        "broker 1 has given its partition up",
        "broker 3 has high watermark 1 and 0 records",
    )


@PROTOCOLS
def test_an_epoch_without_records(new_model: Model, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    assert after(new_model(protocol), *AN_EPOCH_WITHOUT_RECORDS) == ""
    if protocol != "1.1":
        return  # a follower that is asked again for an older epoch cuts there, where it does no harm
    old_rules.keeps_an_epoch_without_records(monkeypatch)
    broken = after(new_model(protocol), *AN_EPOCH_WITHOUT_RECORDS)
    assert "broker 1 has Entry(offset=1, epoch=2, value=b'2a') and the epochs ((1, 0), (3, 1))" in broken


def test_an_outdated_leader_is_asked(new_model: Model) -> None:
    """KIP-320: what 1.1.1's protocol cannot prevent. An acknowledged record is gone from a member of the ISR."""
    assert after(new_model("2.5"), *AN_OUTDATED_LEADER_IS_ASKED) == ""
    broken = after(new_model("1.1"), *AN_OUTDATED_LEADER_IS_ASKED)
    assert broken == "acknowledged Entry(offset=0, epoch=0, value=b'1') is not on broker 3, of the ISR: ()"


def test_kafka_7164(new_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    assert after(new_model("1.1"), *A_MISSED_EPOCH) == ""
    old_rules.goes_on_with_the_same_leader(monkeypatch)
    assert "is not on broker 2, of the ISR" in after(new_model("1.1"), *A_MISSED_EPOCH)


@PROTOCOLS
def test_kafka_7128(new_model: Model, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    run = new_model(protocol).as_far_as_possible(*A_REPLICA_JOINS_A_NEW_LEADER)
    assert sorted(run.model.state.isr) == [1, 2]
    assert len(run.model.acked) == 1
    assert after(run) == ""
    old_rules.joins_at_the_high_watermark(monkeypatch)
    broken = after(new_model(protocol), *A_REPLICA_JOINS_A_NEW_LEADER)
    assert broken == "acknowledged Entry(offset=0, epoch=0, value=b'1') is not on broker 3, of the ISR: ()"


@PROTOCOLS
def test_kafka_7415(new_model: Model, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    run = new_model(protocol).as_far_as_possible(*A_NEW_LEADER_WITHOUT_RECORDS)
    assert [e.value for e in run.model.log(3)] == [b"1"]
    assert after(run) == ""
    old_rules.notes_an_epoch_with_its_first_record(monkeypatch)
    broken = after(new_model(protocol), *A_NEW_LEADER_WITHOUT_RECORDS)
    assert broken == "acknowledged Entry(offset=0, epoch=0, value=b'1') is not on broker 3, of the ISR: ()"


@PROTOCOLS
def test_kafka_8836(new_model: Model, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    """Until ZooKeeper has been asked, the high watermark counts who perhaps is in the ISR."""
    run = new_model(protocol).go(*AN_ISR_WITHOUT_ANSWER)
    assert sorted(run.model.state.isr) == [1, 2, 3]
    assert (run.broken, run.model.acked) == ([], {})
    assert after(run) == ""
    assert [e.value for e in run.model.acked.values()] == [b"1"], "3 has it now"
    old_rules.takes_an_isr_without_answer_for_unwritten(monkeypatch)
    broken = after(new_model(protocol), *AN_ISR_WITHOUT_ANSWER)
    assert broken == "acknowledged Entry(offset=0, epoch=0, value=b'1') is not on broker 3, of the ISR: ()"


@PROTOCOLS
@pytest.mark.parametrize("is_old", [False, True])
def test_kafka_7395(new_model: Model, monkeypatch: pytest.MonkeyPatch, protocol: str, is_old: bool) -> None:
    """While 3 waits for an answer about epochs it is elected, appends, and follows again, in a newer epoch.

    The fetcher outlives that because it fetches another partition, too.
    """
    if is_old:
        old_rules.applies_a_stale_answer_about_epochs(monkeypatch)
    replicate = ("send 3", "serve 3", "take 3", "serve 3", "take 3", "send 3", "serve 3", "take 3")
    run = new_model(protocol).go("append 1", *replicate)
    run.go("crash 2", "start 2", "tell 1", "tell 3", "send 3", "serve 3")
    broker = run.model.running[3]
    fetcher = broker.fetcher
    assert fetcher is not None
    fetcher.add_partitions({TopicPartition("other", 0): 0})
    run.go("elect 3", "tell 3", "tell 1", "append 3").as_far_as_possible(*("send 1", "serve 1", "take 1") * 5)
    assert [e.value for e in run.model.acked.values()] == [b"1", b"2a", b"2b"]
    run.go("elect 1", "tell 1", "tell 3")
    assert broker.fetcher is fetcher
    run.go("take 3")
    assert ("is not on broker 3, of the ISR" in "; ".join(run.broken)) is is_old
