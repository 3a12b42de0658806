"""One event after the other on one thread; a failing event does not stop the next."""

from __future__ import annotations

import pytest

from kafka_py.controller.controller_context import ControllerStats
from kafka_py.controller.controller_event_manager import ControllerEvent, ControllerEventManager
from kafka_py.controller.controller_state import ControllerState
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import CountDownLatch


class Event(ControllerEvent):
    """Runs a function as a controller event."""

    def __init__(self, state: ControllerState, work: object = None) -> None:
        self.state = state
        self.work = work

    def process(self) -> None:
        if callable(self.work):
            self.work()


@pytest.mark.ported("ControllerEventManagerTest.testSuccessfulEvent")
@pytest.mark.ported("ControllerEventManagerTest.testEventThatThrowsException")
def test_events_run_in_order_and_failures_are_survived() -> None:
    stats = ControllerStats()
    seen: list[object] = []
    done = CountDownLatch(2)
    processed: list[ControllerEvent] = []

    def listener(event: ControllerEvent) -> None:
        processed.append(event)
        done.count_down()

    manager = ControllerEventManager(0, stats.rate_and_time_metrics, listener)

    def fail() -> None:
        seen.append(manager.state)
        raise ValueError("this event fails")

    before = stats.rate_and_time_metrics[ControllerState.BrokerChange].count
    manager.put(Event(ControllerState.BrokerChange, fail))
    manager.put(Event(ControllerState.TopicChange, lambda: seen.append(manager.state)))
    manager.start()
    assert done.await_(5_000)
    manager.close()
    assert seen == [ControllerState.BrokerChange, ControllerState.TopicChange]
    assert len(processed) == 2
    assert manager.state is ControllerState.Idle
    assert stats.rate_and_time_metrics[ControllerState.BrokerChange].count == before + 1


def test_what_waits_can_be_looked_at() -> None:
    time = MockTime()
    manager = ControllerEventManager(0, ControllerStats().rate_and_time_metrics, lambda event: None, time)
    first, second = Event(ControllerState.TopicChange), Event(ControllerState.IsrChange)
    manager.put(first)
    time.sleep(30)
    manager.put(second)
    time.sleep(5)
    assert manager.waiting() == [(first, 35), (second, 5)]


def test_clear_and_put_forgets_what_was_queued() -> None:
    seen: list[str] = []
    done = CountDownLatch(1)
    manager = ControllerEventManager(0, ControllerStats().rate_and_time_metrics, lambda event: done.count_down())
    manager.put(Event(ControllerState.TopicChange, lambda: seen.append("old")))
    manager.clear_and_put(Event(ControllerState.ControllerChange, lambda: seen.append("expire")))
    manager.start()
    assert done.await_(5_000)
    manager.close()
    assert seen == ["expire"]


def test_metric_names_and_values_of_the_states() -> None:
    assert [s.value for s in ControllerState.values] == list(range(13))
    assert ControllerState.Idle.rate_and_time_metric_name is None
    assert ControllerState.BrokerChange.rate_and_time_metric_name == "LeaderElectionRateAndTimeMs"
    assert ControllerState.IsrChange.rate_and_time_metric_name == "IsrChangeRateAndTimeMs"
