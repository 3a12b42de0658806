"""InitProducerId.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (this handler)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.coordinator.transaction.transaction_coordinator import InitProducerIdResult, TransactionCoordinator
    from kafka_py.network.request_channel import Request
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.request_handler_helper import RequestHandlerHelper


class KafkaApisTransactions(Logging):
    """The handler that gives out producer ids. Thread: as KafkaApis."""

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        txn_coordinator: TransactionCoordinator,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._txn_coordinator = txn_coordinator

    def handle_init_producer_id_request(self, request: Request) -> None:
        """Give a producer its id and epoch."""
        init_request = request.body(InitProducerIdRequest)
        transactional_id = init_request.transactional_id
        if transactional_id is not None:
            operation, resource = Operation.Write, Resource(ResourceType.TransactionalId, transactional_id)
            error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        else:
            operation, resource = Operation.IdempotentWrite, Resource.CLUSTER_RESOURCE
            error = Errors.CLUSTER_AUTHORIZATION_FAILED
        if not self._auth_helper.authorize(request.session, operation, resource):
            exception = error.exception()
            assert exception is not None
            self._request_helper.send_error_response_maybe_throttle(request, exception)
            return

        def send_response_callback(result: InitProducerIdResult) -> None:
            def create_response(request_throttle_ms: int) -> AbstractResponse:
                response_body = InitProducerIdResponse(
                    throttle_time_ms=request_throttle_ms,
                    error_code=result.error.code,
                    producer_id=result.producer_id,
                    producer_epoch=result.producer_epoch,
                )
                self.trace(
                    "Completed %s's InitProducerIdRequest with result %s from client %s.",
                    transactional_id,
                    result,
                    request.header.client_id,
                )
                return response_body

            self._request_helper.send_response_maybe_throttle(request, create_response)

        self._txn_coordinator.handle_init_producer_id(
            transactional_id, init_request.transaction_timeout_ms, None, send_response_callback
        )
