"""Share of handler and network time a client may use.

Mirrors: core/src/main/scala/kafka/server/ClientRequestQuotaManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_py.server.client_quota_manager import ClientQuotaManager, ClientQuotaManagerConfig
from kafka_py.server.quota_type import QuotaType

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.utils.time import Time
    from kafka_py.network.request_channel import Request


class ClientRequestQuotaManager(ClientQuotaManager):
    """As ClientQuotaManager, for time instead of bytes.

    Mirrors: kafka.server.ClientRequestQuotaManager
    Differs: the request-based maybeRecordAndThrottle is maybe_record_and_throttle_request; as in 3.7.1 the time at
        which the remote part ended is taken by the request channel.
    Left out: exemptSensor, recordExempt, throttleTime, clientRateMetricName, exemptMetricName, exemptSensorName,
        nanosToPercentage -- comes with quotas
    """

    def __init__(
        self, config: ClientQuotaManagerConfig, metrics: Metrics, time: Time, thread_name_prefix: str = ""
    ) -> None:
        """A quota manager of type Request."""
        super().__init__(config, metrics, QuotaType.Request, time, thread_name_prefix)
        self.max_throttle_time_ms = config.quota_window_size_seconds * 1000

    def maybe_record_and_throttle_request(
        self, request: Request, send_response_callback: Callable[[int], None]
    ) -> None:
        """Count the request's time and call back with the throttle time in ms."""
        send_response_callback(0)

    def maybe_record_exempt(self, request: Request) -> None:
        """Count the time of a request that is never delayed."""
        if self.quotas_enabled:
            self.trace("Request %s is exempt from throttling", request)
