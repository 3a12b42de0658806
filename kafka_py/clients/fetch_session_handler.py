"""The fetcher's side of incremental fetch sessions (KIP-227).

Mirrors: clients/src/main/java/org/apache/kafka/clients/FetchSessionHandler.java @ 1.1.1
Read next: server/fetch_session.py (the broker's side)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.fetch_metadata import FetchMetadata
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafka_py.common.requests.fetch_request import FetchRequest
    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.common.topic_partition import TopicPartition

    Partitions = dict[TopicPartition, FetchRequest.PartitionData]


class FetchRequestData(NamedTuple):
    """What the next Fetch to the node has to say.

    Mirrors: org.apache.kafka.clients.FetchSessionHandler.FetchRequestData
    Differs: attributes instead of getters
    """

    to_send: Partitions
    to_forget: list[TopicPartition]
    session_partitions: Partitions
    metadata: FetchMetadata

    def __str__(self) -> str:
        to_send = ", ".join(map(str, self.to_send))
        if self.metadata.is_full():
            return f"FullFetchRequest({to_send})"
        implied = ", ".join(str(p) for p in self.session_partitions if p not in self.to_send)
        to_forget = ", ".join(map(str, self.to_forget))
        return f"IncrementalFetchRequest(toSend=({to_send}), toForget=({to_forget}), implied=({implied}))"


class FetchSessionHandler(Logging):
    """Remembers what one node knows of our fetch session.

    Mirrors: org.apache.kafka.clients.FetchSessionHandler
    Thread: its fetcher
    """

    def __init__(self, log_context: str, node: int) -> None:
        self.log_ident = log_context
        self.node = node
        self._next_metadata = FetchMetadata.INITIAL  # thread: fetcher
        # what the node believes we fetch, in its order
        self._session_partitions: Partitions = {}  # thread: fetcher

    class Builder:
        """Collects the partitions of the next Fetch.

        Mirrors: org.apache.kafka.clients.FetchSessionHandler.Builder
        """

        def __init__(self, handler: FetchSessionHandler) -> None:
            self._handler = handler
            self._next: Partitions = {}

        def add(self, topic_partition: TopicPartition, data: FetchRequest.PartitionData) -> None:
            """Fetch this partition too."""
            self._next[topic_partition] = data

        def build(self) -> FetchRequestData:
            """What to send: all of it, or what is new, altered and to be forgotten."""
            return self._handler._build(self._next)

    def new_builder(self) -> Builder:
        """For the next Fetch."""
        return FetchSessionHandler.Builder(self)

    def _build(self, next_partitions: Partitions) -> FetchRequestData:
        session = self._session_partitions
        if self._next_metadata.is_full():
            self.debug(
                "Built full fetch %s for node %d with %s.",
                self._next_metadata,
                self.node,
                self._partitions_to_log_string(next_partitions.keys()),
            )
            self._session_partitions = next_partitions
            to_send = dict(next_partitions)
            return FetchRequestData(to_send, [], to_send, self._next_metadata)
        removed = [tp for tp in session if tp not in next_partitions]
        altered = [tp for tp, data in session.items() if tp in next_partitions and data != next_partitions[tp]]
        added = [tp for tp in next_partitions if tp not in session]
        for tp in removed:
            del session[tp]
        # new ones first, then those that changed, in the session's order
        to_send = {tp: next_partitions[tp] for tp in [*added, *altered]}
        session.update(to_send)
        if self.is_debug_enabled:
            self.debug(
                "Built incremental fetch %s for node %d. Added %s, altered %s, removed %s out of %s",
                self._next_metadata,
                self.node,
                self._partitions_to_log_string(added),
                self._partitions_to_log_string(altered),
                self._partitions_to_log_string(removed),
                self._partitions_to_log_string(session.keys()),
            )
        return FetchRequestData(to_send, removed, dict(session), self._next_metadata)

    def _partitions_to_log_string(self, partitions: Collection[TopicPartition]) -> str:
        if not self.is_trace_enabled:
            return f"{len(partitions)} partition(s)"
        return "(" + ", ".join(map(str, partitions)) + ")"

    @staticmethod
    def find_missing(
        to_find: Collection[TopicPartition], to_search: Collection[TopicPartition]
    ) -> list[TopicPartition]:
        """Partitions of the one that are not in the other."""
        return [tp for tp in to_find if tp not in to_search]

    def _verify_full_fetch_response_partitions(self, response: FetchResponse) -> str | None:
        """What is wrong with the partitions of a full response; None if they are those of the request."""
        in_response = response.response_data().keys()
        omitted = self.find_missing(in_response, self._session_partitions)
        extra = self.find_missing(self._session_partitions, in_response)
        if not omitted and not extra:
            return None
        parts = [
            f"{name}=({', '.join(map(str, found))})"
            for name, found in (("omitted", omitted), ("extra", extra))
            if found
        ]
        return ", ".join([*parts, f"response=({', '.join(map(str, in_response))})"])

    def _verify_incremental_fetch_response_partitions(self, response: FetchResponse) -> str | None:
        """What is wrong with the partitions of an incremental response; None if all are in the session."""
        in_response = response.response_data().keys()
        extra = self.find_missing(in_response, self._session_partitions)
        if not extra:
            return None
        return f"extra=({', '.join(map(str, extra))}), response=({', '.join(map(str, in_response))})"

    def _response_data_to_log_string(self, response: FetchResponse) -> str:
        in_response = response.response_data().keys()
        implied = [tp for tp in self._session_partitions if tp not in in_response]
        if not self.is_trace_enabled:
            text = f" with {len(in_response)} response partition(s)"
            return f"{text}, {len(implied)} implied partition(s)" if implied else text
        text = f" with response=({', '.join(map(str, in_response))})"
        return f"{text}, implied=({', '.join(map(str, implied))})" if implied else text

    def handle_response(self, response: FetchResponse) -> bool:
        """Take note of an answer; False if it must not be used, and the next Fetch has to begin anew."""
        if response.error() is not Errors.NONE:
            self.info(
                "Node %d was unable to process the fetch request with %s: %s.",
                self.node,
                self._next_metadata,
                response.error(),
            )
            if response.error() is Errors.FETCH_SESSION_ID_NOT_FOUND:
                self._next_metadata = FetchMetadata.INITIAL
            else:
                self._next_metadata = self._next_metadata.next_close_existing()
            return False
        if self._next_metadata.is_full():
            return self._handle_full_response(response)
        return self._handle_incremental_response(response)

    def _handle_full_response(self, response: FetchResponse) -> bool:
        problem = self._verify_full_fetch_response_partitions(response)
        if problem is not None:
            self.info("Node %d sent an invalid full fetch response with %s", self.node, problem)
            self._next_metadata = FetchMetadata.INITIAL
            return False
        if self.is_debug_enabled:
            self.debug(
                "Node %d sent a full fetch response with session id %d%s",
                self.node,
                response.session_id(),
                self._response_data_to_log_string(response),
            )
        if response.session_id() == FetchMetadata.INVALID_SESSION_ID:
            self._next_metadata = FetchMetadata.INITIAL
        else:
            self._next_metadata = FetchMetadata.new_incremental(response.session_id())
        return True

    def _handle_incremental_response(self, response: FetchResponse) -> bool:
        problem = self._verify_incremental_fetch_response_partitions(response)
        if problem is not None:
            self.info("Node %d sent an invalid incremental fetch response with %s", self.node, problem)
            self._next_metadata = self._next_metadata.next_close_existing()
            return False
        closing = response.session_id() == FetchMetadata.INVALID_SESSION_ID
        if self.is_debug_enabled:
            self.debug(
                "Node %d sent an incremental fetch response %s session %d%s",
                self.node,
                "closing" if closing else "for",
                self._next_metadata.session_id(),
                self._response_data_to_log_string(response),
            )
        self._next_metadata = FetchMetadata.INITIAL if closing else self._next_metadata.next_incremental()
        return True

    def handle_error(self, t: BaseException) -> None:
        """No answer came: whether the node took note of the request is not known, so the session is given up."""
        self.info("Error sending fetch request %s to node %d: %r.", self._next_metadata, self.node, t)
        self._next_metadata = self._next_metadata.next_close_existing()
