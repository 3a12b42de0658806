"""Waiting on a client that does not wait.

Mirrors: clients/src/main/java/org/apache/kafka/clients/NetworkClientUtils.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.common.errors import DisconnectException

if TYPE_CHECKING:
    from kafka_py.clients.client_request import ClientRequest
    from kafka_py.clients.client_response import ClientResponse
    from kafka_py.clients.kafka_client import KafkaClient
    from kafka_py.common.node import Node
    from kafka_py.common.utils.time import Time


class NetworkClientUtils:
    """Connect, and send and receive, in a blocking manner.

    Mirrors: org.apache.kafka.clients.NetworkClientUtils
    """

    @staticmethod
    def is_ready(client: KafkaClient, node: Node, current_time: int) -> bool:
        """Whether a request may be sent, after a look at what happened to the connection meanwhile."""
        client.poll(0, current_time)
        return client.is_ready(node, current_time)

    @staticmethod
    def await_ready(client: KafkaClient, node: Node, time: Time, timeout_ms: int) -> bool:
        """Connect and wait for up to `timeout_ms`; whether the node is ready.

        OSError when the connection failed, AuthenticationException when it was refused, ValueError for a negative
        time. Disconnects of earlier connections are seen and done with by the first poll.
        """
        if timeout_ms < 0:
            raise ValueError("Timeout needs to be greater than 0")
        start_time = time.milliseconds()
        expiry_time = start_time + timeout_ms
        if NetworkClientUtils.is_ready(client, node, start_time) or client.ready(node, start_time):
            return True
        attempt_start_time = time.milliseconds()
        while not client.is_ready(node, attempt_start_time) and attempt_start_time < expiry_time:
            if client.connection_failed(node):
                raise OSError(f"Connection to {node} failed.")
            client.poll(expiry_time - attempt_start_time, attempt_start_time)
            authentication_exception = client.authentication_exception(node)
            if authentication_exception is not None:
                raise authentication_exception
            attempt_start_time = time.milliseconds()
        return client.is_ready(node, attempt_start_time)

    @staticmethod
    def send_and_receive(client: KafkaClient, request: ClientRequest, time: Time) -> ClientResponse:
        """Send and wait for the answer, without a limit but the client's request timeout.

        OSError when the connection is lost or the client is told to close, UnsupportedVersionException when the
        request cannot be sent. Other responses that come meanwhile are thrown away: one request at a time.
        """
        try:
            client.send(request, time.milliseconds())
            while client.active():
                for response in client.poll(LONG_MAX, time.milliseconds()):
                    if response.request_header().correlation_id != request.correlation_id():
                        continue
                    if response.was_disconnected():
                        raise OSError(
                            f"Connection to {response.destination()} was disconnected before the response was read"
                        )
                    version_mismatch = response.version_mismatch()
                    if version_mismatch is not None:
                        raise version_mismatch
                    return response
        except DisconnectException:
            if client.active():
                raise
        raise OSError("Client was shutdown before response was read")
