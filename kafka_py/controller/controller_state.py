"""What the controller is doing right now, as its ControllerState gauge and its timing metrics name it.

Mirrors: core/src/main/scala/kafka/controller/ControllerState.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class ControllerState:
    """One kind of work of the event thread; ``value`` is what the ControllerState gauge shows.

    Mirrors: kafka.controller.ControllerState
    Differs: the case objects of the Scala file are class attributes, made at the end of this module.
    """

    Idle: ClassVar[ControllerState]
    ControllerChange: ClassVar[ControllerState]
    BrokerChange: ClassVar[ControllerState]
    TopicChange: ClassVar[ControllerState]
    TopicDeletion: ClassVar[ControllerState]
    PartitionReassignment: ClassVar[ControllerState]
    AutoLeaderBalance: ClassVar[ControllerState]
    ManualLeaderBalance: ClassVar[ControllerState]
    ControlledShutdown: ClassVar[ControllerState]
    IsrChange: ClassVar[ControllerState]
    LeaderAndIsrResponseReceived: ClassVar[ControllerState]
    LogDirChange: ClassVar[ControllerState]
    ControllerShutdown: ClassVar[ControllerState]
    values: ClassVar[list[ControllerState]]

    def __init__(self, value: int, name: str, metric_name: str | None = None) -> None:
        self.value = value
        self.name = name
        self._metric_name = metric_name

    def __repr__(self) -> str:
        return self.name

    @property
    def rate_and_time_metric_name(self) -> str | None:
        """Name of the timer that measures this kind of work, None for Idle."""
        if not self.has_rate_and_time_metric:
            return None
        return self._metric_name or f"{self.name}RateAndTimeMs"

    @property
    def has_rate_and_time_metric(self) -> bool:
        return self.value != 0


# The metric of BrokerChange is older than this class and keeps the name that dashboards know.
_NAMES: list[tuple[str, str | None]] = [
    ("Idle", None),
    ("ControllerChange", None),
    ("BrokerChange", "LeaderElectionRateAndTimeMs"),
    ("TopicChange", None),
    ("TopicDeletion", None),
    ("PartitionReassignment", None),
    ("AutoLeaderBalance", None),
    ("ManualLeaderBalance", None),
    ("ControlledShutdown", None),
    ("IsrChange", None),
    ("LeaderAndIsrResponseReceived", None),
    ("LogDirChange", None),
    ("ControllerShutdown", None),
]
ControllerState.values = [ControllerState(value, name, metric) for value, (name, metric) in enumerate(_NAMES)]
for _state in ControllerState.values:
    setattr(ControllerState, _state.name, _state)
