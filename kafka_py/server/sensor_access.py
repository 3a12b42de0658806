"""Gets a sensor, making it once when there is none.

Mirrors: core/src/main/scala/kafka/server/SensorAccess.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_py.utils.concurrent import ReentrantReadWriteLock

if TYPE_CHECKING:
    from kafka_py.common.metric_name import MetricName
    from kafka_py.common.metrics.metric_config import MetricConfig
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.metrics.sensor import Sensor
    from kafka_py.common.metrics.stat import MeasurableStat


class SensorAccess:
    """Hands out a sensor only when its metrics are in place.

    Mirrors: kafka.server.SensorAccess
    Locks: the owner's read-write lock.
    Differs: a sensor that is there is taken without the read lock when it has its metrics, for they are added last.
    """

    def __init__(self, lock: ReentrantReadWriteLock, metrics: Metrics) -> None:
        """Use the owner's lock, so that a changing quota and a new sensor do not meet."""
        self._lock = lock
        self._metrics = metrics

    def get_or_create(
        self,
        sensor_name: str,
        expiration_time: int,
        metric_name: Callable[[], MetricName],
        config: Callable[[], MetricConfig | None],
        measure: Callable[[], MeasurableStat],
    ) -> Sensor:
        """The sensor; the last three are only called to make it. expiration_time: seconds."""
        sensor = self._metrics.get_sensor(sensor_name)
        if sensor is not None and sensor.has_metrics():
            return sensor
        with self._lock.write_lock():
            sensor = self._metrics.get_sensor(sensor_name)
            if sensor is None:
                sensor = self._metrics.sensor(
                    sensor_name, config=config(), inactive_sensor_expiration_time_seconds=expiration_time
                )
                sensor.add(metric_name(), measure())
        return sensor
