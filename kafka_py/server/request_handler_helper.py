"""The ways in which a handler answers: at once or throttled, with an error, or by closing the connection.

Mirrors: core/src/main/scala/kafka/server/RequestHandlerHelper.scala @ 3.7.1 (in 1.1.1 the end of KafkaApis.scala)
Read next: ../network/request_channel.py, kafka_apis.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import ClusterAuthorizationException
from kafka_py.utils.logging import Logging
from kafka_py.utils.stack_limiter import StackLimiter, in_short

if TYPE_CHECKING:
    from kafka_py.common.protocol.errors import Errors
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.utils.time import Time
    from kafka_py.network.request_channel import Request, RequestChannel
    from kafka_py.server.quota_factory import QuotaFactory


class RequestHandlerHelper(Logging):
    """Sends the answers of all handlers, through the quota of request time.

    Mirrors: core/src/main/scala/kafka/server/RequestHandlerHelper.scala/RequestHandlerHelper @ 3.7.1
    Thread: request handlers; whatever thread completes a delayed operation.
    Differs: logs as KafkaApis, whose part it is in 1.1.1. A handler that fails again and again leaves its stack in the
        log now and then only.
    """

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self, request_channel: RequestChannel, quotas: QuotaFactory.QuotaManagers, time: Time, log_ident: str
    ) -> None:
        self._request_channel = request_channel
        self._quotas = quotas
        self._stacks = StackLimiter(time)
        self.log_ident = log_ident

    def handle_error(self, request: Request, e: BaseException) -> None:
        """Answer a request whose handling failed."""
        may_throttle = isinstance(e, ClusterAuthorizationException) or not request.header.api_key.cluster_action
        self.error(
            "Error when handling request %s: %s",
            in_short(request.loggable_request(True)),
            in_short(e),
            exc=self._stacks.stack_of(e, self.is_debug_enabled),
        )
        if may_throttle:
            self.send_error_response_maybe_throttle(request, e)
        else:
            self.send_error_response_exempt_throttle(request, e)

    def send_response_maybe_throttle(
        self, request: Request, create_response: Callable[[int], AbstractResponse]
    ) -> None:
        """Answer a client, later if it uses too much of the broker's time."""
        quota = self._quotas.request
        if quota.quotas_enabled:
            quota.maybe_record_and_throttle_request(
                request, lambda throttle_time_ms: self.send_response(request, create_response(throttle_time_ms))
            )
        else:
            self._request_channel.send_response(request, create_response(0), None)

    def send_error_response_maybe_throttle(self, request: Request, error: BaseException) -> None:
        """Tell a client of an error, as an answer."""
        self._quotas.request.maybe_record_and_throttle_request(
            request, lambda throttle_ms: self.send_error_or_close_connection(request, error, throttle_ms)
        )

    def send_response_exempt_throttle(self, request: Request, response: AbstractResponse) -> None:
        """Answer a broker, or another whose time is not rationed."""
        self._quotas.request.maybe_record_exempt(request)
        self.send_response(request, response)

    def send_error_response_exempt_throttle(self, request: Request, error: BaseException) -> None:
        """Tell a broker of an error, as an answer."""
        self._quotas.request.maybe_record_exempt(request)
        self.send_error_or_close_connection(request, error, 0)

    def send_error_or_close_connection(self, request: Request, error: BaseException, throttle_ms: int) -> None:
        """Close where no answer is expected: there is no other way to tell."""
        request_body = request.body()
        response = request_body.get_error_response(throttle_ms, error)
        if response is None:
            self.close_connection(request, request_body.error_counts(error))
        else:
            self.send_response(request, response)

    def send_no_op_response_exempt_throttle(self, request: Request) -> None:
        """End a request that gets no answer, such as Produce with acks=0."""
        self._quotas.request.maybe_record_exempt(request)
        self.send_response(request, None)

    def close_connection(self, request: Request, error_counts: dict[Errors, int]) -> None:
        """End a request without an answer by ending its connection."""
        self._request_channel.close_connection(request, error_counts)

    def send_response(self, request: Request, response: AbstractResponse | None) -> None:
        """Hand the answer, or the fact that there is none, to the connection's processor; errors are counted there."""
        if response is None:
            self._request_channel.send_no_op_response(request)
        else:
            self._request_channel.send_response(request, response, None)
