"""How much a sensor's records matter.

Mirrors: Sensor.RecordingLevel in clients/src/main/java/org/apache/kafka/common/metrics/Sensor.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class RecordingLevel:
    """INFO sensors always record, DEBUG sensors only if the configuration says DEBUG.

    Mirrors: org.apache.kafka.common.metrics.Sensor.RecordingLevel
    """

    INFO: ClassVar[RecordingLevel]
    DEBUG: ClassVar[RecordingLevel]
    __slots__ = ("id", "name")

    def __init__(self, id: int, name: str) -> None:
        self.id = id
        self.name = name

    @staticmethod
    def for_id(id: int) -> RecordingLevel:
        """The level of that id; ValueError if there is none."""
        for level in (RecordingLevel.INFO, RecordingLevel.DEBUG):
            if level.id == id:
                return level
        raise ValueError(f"Unexpected RecordLevel id `{id}`, it should be between `0` and `1` (inclusive)")

    @staticmethod
    def for_name(name: str) -> RecordingLevel:
        """The level of that name, in any case; ValueError if there is none."""
        for level in (RecordingLevel.INFO, RecordingLevel.DEBUG):
            if level.name == name.upper():
                return level
        raise ValueError(f"No RecordingLevel {name}")

    def should_record(self, config_id: int) -> bool:
        """Whether a sensor of this level records under a configured level."""
        return config_id == 1 or config_id == self.id

    def __repr__(self) -> str:
        return self.name


RecordingLevel.INFO = RecordingLevel(0, "INFO")
RecordingLevel.DEBUG = RecordingLevel(1, "DEBUG")
