"""Bytes per second a client may produce or fetch.

Mirrors: core/src/main/scala/kafka/server/ClientQuotaManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.metrics.quota import Quota
    from kafka_py.common.utils.time import Time
    from kafka_py.server.quota_type import QuotaType

_DEFAULT = "<default>"
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


class QuotaId(NamedTuple):
    """Whose quota it is: a user's, a client id's, or a user's with that client id.

    Mirrors: kafka.server.QuotaId
    """

    sanitized_user: str | None
    client_id: str | None
    sanitized_client_id: str | None

    def __str__(self) -> str:
        user = {None: "", _DEFAULT: "default user "}.get(self.sanitized_user, f"user {self.sanitized_user} ")
        return user + {None: "", _DEFAULT: "default client-id"}.get(self.client_id, f"client-id {self.client_id}")


class ClientQuotaManager(Logging):
    """Knows the quotas of clients; later it measures what they send or get and delays those that are above theirs.

    Mirrors: kafka.server.ClientQuotaManager
    Thread: request handlers; updates come from the thread of config notifications.
    Differs: no quota is enforced; a quota that is set is told of as a warning, once for each value.
    Left out: start, doWork, recordAndThrottleOnQuotaViolation, recordNoThrottle, quotaEntity,
        quotaEntityWithMultipleQuotaLevels, quota, throttleTime, measurableAsRate, getOrCreateQuotaSensors,
        getThrottleTimeSensorName, getQuotaSensorName, getQuotaMetricConfig, getOrCreateSensor, clientRateMetricName,
        throttleMetricName -- come with quotas; until then none is enforced, as with Kafka's defaults
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
        self.config = config
        self.metrics = metrics
        self.quota_type = api_key
        self.time = time
        self.thread_name_prefix = thread_name_prefix
        self.quotas_enabled = False
        self._overridden_quota: dict[QuotaId, Quota] = {}  # thread: config notifications
        if not config.unlimited:
            self.warn("The default %s quota is not enforced by this version.", api_key)

    def maybe_record_and_throttle(
        self, sanitized_user: str, client_id: str, value: float, callback: Callable[[int], None]
    ) -> int:
        """Count the bytes and call back with the throttle time in ms, at once unless the quota is violated."""
        callback(0)
        return 0

    def update_quota(
        self,
        sanitized_user: str | None,
        client_id: str | None,
        sanitized_client_id: str | None,
        quota: Quota | None,
    ) -> None:
        """Take over a quota that was set, or (None) removed, in ZooKeeper."""
        quota_id = QuotaId(sanitized_user, client_id, sanitized_client_id)
        if quota is None:
            if self._overridden_quota.pop(quota_id, None) is not None:
                self.info("Removing %s quota for %s", self.quota_type, quota_id)
        elif self._overridden_quota.get(quota_id) != quota:
            self._overridden_quota[quota_id] = quota
            self.info("Changing %s quota for %s to %s", self.quota_type, quota_id, quota.bound())
            self.warn("The %s quota for %s is not enforced by this version.", self.quota_type, quota_id)

    def shutdown(self) -> None:
        """Stop delaying responses."""
        self.debug("%s quota manager shut down", self.quota_type)
