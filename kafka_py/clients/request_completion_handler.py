"""What a sender wants called when its request is over.

Mirrors: clients/src/main/java/org/apache/kafka/clients/RequestCompletionHandler.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafka_py.clients.client_response import ClientResponse


class RequestCompletionHandler(Protocol):
    """A callable that takes the response; a plain function will do.

    Mirrors: org.apache.kafka.clients.RequestCompletionHandler
    Differs: called directly, where Java calls its onComplete
    """

    def __call__(self, response: ClientResponse, /) -> object:
        """Take the response, or the news of a disconnect."""
