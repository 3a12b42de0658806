"""The model itself, and the search through its schedules that fits into a run of all tests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from tests.model import old_rules
from tests.model.interleavings import Counterexample, Run, Search
from tests.model.three_replicas import NotPossible

Model = Callable[..., Run]
REPLICATE = ("send 2", "serve 2", "take 2", "serve 2", "take 2", "send 2", "serve 2", "take 2")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_a_record_that_all_replicas_have_is_acknowledged(new_model: Model) -> None:
    run = new_model().go("append 1", *REPLICATE)
    assert run.model.acked == {}, "3 is in the ISR, too"
    run.go(*(step.replace("2", "3") for step in REPLICATE))
    assert [e.value for e in run.model.acked.values()] == [b"1"]
    assert run.model.log(1) == run.model.log(2) == run.model.log(3) == tuple(run.model.acked.values())
    assert run.broken == []


def test_a_broker_comes_back_with_its_log_and_its_checkpoint(new_model: Model) -> None:
    run = new_model().go("append 1", "pass", "shrink 1")
    assert sorted(run.model.state.isr) == [1]
    assert len(run.model.acked) == 1
    run.go("crash 1")
    assert len(run.model.log(1)) == 1
    run.go("notice 1")
    assert (run.model.state.leader, run.model.state.isr) == (-1, [1])
    run.go("start 1")
    assert run.model.state.leader == 1
    run.settle()
    assert len(run.model.log(3)) == 1
    assert run.broken == []


def test_what_is_not_possible_is_refused(new_model: Model) -> None:
    run = new_model()
    for step in ("serve 2", "take 2", "elect 1", "tell 1", "start 1", "notice 1", "append 2", "shrink 1", "late 1"):
        with pytest.raises(NotPossible):
            run.go(step)
    assert run.as_far_as_possible("serve 2", "append 1").schedule == ["append 1"]


def test_the_same_steps_lead_to_the_same_state(new_model: Model) -> None:
    one, other = new_model(), new_model()
    one.go("append 1", "elect 2", "send 3", "serve 3")
    other.go("send 3", "serve 3", "append 1", "elect 2")
    assert one.model.fingerprint() == other.model.fingerprint(), "nothing of this depends on the order"
    other.go("take 3")
    assert one.model.fingerprint() != other.model.fingerprint()


def test_a_request_may_arrive_after_its_fetcher_has_stopped(new_model: Model) -> None:
    run = new_model().go("send 2", "serve 2", "take 2", "elect 3", "tell 2", "late 2")
    assert run.broken == []
    with pytest.raises(NotPossible):
        run.go("late 2")


def test_a_fetcher_that_is_stopped_ends_whatever_it_waits_for(new_model: Model) -> None:
    run = new_model().go(*REPLICATE, "crash 3", "start 3", "tell 2", "send 2")
    fetcher = run.model.running[2].fetcher
    assert fetcher is not None
    assert isinstance(fetcher.wire.request, OffsetsForLeaderEpochRequest)
    run.go("elect 2", "tell 2")
    assert not fetcher.fiber.is_waiting, "nor does it tell its session to forget the partition"


def test_a_counterexample_becomes_a_test() -> None:
    text = Counterexample(("append 1", "pass"), ("something is wrong",)).as_test()
    assert text == (
        "def test_(new_model: Model) -> None:\n"
        "    # something is wrong\n"
        '    assert after(new_model(), "append 1", "pass") == ""\n'
    )


def test_the_search_finds_what_is_wrong_and_leaves_out_what_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    old_rules.takes_an_isr_without_answer_for_unwritten(monkeypatch)
    prefix = ("pass", "send 2", "serve 2", "take 2", "serve 2", "shrink 1", "append 1", "break 1", "send 3", "serve 3")
    search = Search((*prefix, "take 3", "serve 3"), kinds=("send", "serve", "take"))
    found = search.exhaustive(6).counterexample
    assert found is not None
    shortest = search.shortest(Counterexample((*found.schedule[:8], "crash 2", *found.schedule[8:]), found.broken))
    assert "is not on broker 3, of the ISR" in shortest.broken[0]
    assert len(shortest.schedule) <= len(found.schedule)


def test_a_walk_is_told_by_its_seed() -> None:
    told: list[str] = []
    assert Search().at_random(2, 10, seed=5, progress=told.append).looked_at == 2
    assert told == []


@pytest.mark.parametrize(
    ("prefix", "depth"),
    [
        ((), 2),
        (("append 1", *REPLICATE, "pass", "shrink 1", "send 3", "serve 3"), 2),
        (("append 1", "elect 2", "tell 2", "append 2", "elect 1"), 1),
    ],
)
def test_all_that_may_follow(prefix: tuple[str, ...], depth: int) -> None:
    found = Search(prefix).exhaustive(depth)
    assert found.counterexample is None, found.counterexample.as_test()
    assert found.looked_at > 10


@pytest.mark.parametrize("min_isr", [1, 2])
def test_random_schedules(min_isr: int) -> None:
    found = Search(min_isr=min_isr).at_random(15, 50, seed=1000 * min_isr)
    assert found.counterexample is None, found.counterexample.as_test()
