"""Bytes per second a client may produce or fetch.

Mirrors: core/src/main/scala/kafka/server/ClientQuotaManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.utils.time import Time
    from kafka_py.server.quota_type import QuotaType

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1


class ClientQuotaManagerConfig(NamedTuple):
    """Default quota and how its rate is measured.

    Mirrors: kafka.server.ClientQuotaManagerConfig
    """

    quota_bytes_per_second_default: int = _LONG_MAX
    num_quota_samples: int = 11
    quota_window_size_seconds: int = 1

    @property
    def unlimited(self) -> bool:
        """Whether the default lets everything pass."""
        return self.quota_bytes_per_second_default == _LONG_MAX


class ClientQuotaManager(Logging):
    """Measures what clients send or get and delays the responses of those above their quota.

    Mirrors: kafka.server.ClientQuotaManager
    Thread: request handlers.
    Left out: start, doWork, recordAndThrottleOnQuotaViolation, recordNoThrottle, quotaEntity,
        quotaEntityWithMultipleQuotaLevels, quota, throttleTime, measurableAsRate, getOrCreateQuotaSensors,
        getThrottleTimeSensorName, getQuotaSensorName, getQuotaMetricConfig, getOrCreateSensor, updateQuota,
        clientRateMetricName, throttleMetricName -- stage 6; until then there are no quotas, which is Kafka's default
    """

    def __init__(
        self,
        config: ClientQuotaManagerConfig,
        metrics: Metrics,
        api_key: QuotaType,
        time: Time,
        thread_name_prefix: str = "",
    ) -> None:
        """Keep what measuring will need; warns when a default quota asks for what is not done yet."""
        self.config = config  # const
        self.metrics = metrics  # const
        self.quota_type = api_key  # const
        self.time = time  # const
        self.thread_name_prefix = thread_name_prefix  # const
        self.quotas_enabled = False  # const
        if not config.unlimited:
            self.warn("The default %s quota is not enforced by this version.", api_key)

    def maybe_record_and_throttle(
        self, sanitized_user: str, client_id: str, value: float, callback: Callable[[int], None]
    ) -> int:
        """Count the bytes and call back with the throttle time in ms, at once unless the quota is violated."""
        callback(0)
        return 0

    def shutdown(self) -> None:
        """Stop delaying responses."""
        self.debug("%s quota manager shut down", self.quota_type)
