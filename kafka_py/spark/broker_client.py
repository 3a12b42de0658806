"""Questions to the brokers of a cluster, asked by a task that waits for each answer.

The project's own client does the work, so that neither the source nor the sink needs a package beyond Spark's. A
question can be sent and its answer be fetched later: meanwhile the broker works, and so does the task.

Read next: clients/network_client.py; fetch_transport.py and sink.py, which ask
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.client_utils import BOOTSTRAP_SERVERS_CONFIG, ClientUtils
from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.clients.network_client_utils import NetworkClientUtils
from kafka_py.common.cluster import Cluster
from kafka_py.common.errors import (
    BrokerNotAvailableException,
    ConfigException,
    ReplicaNotAvailableException,
    RetriableException,
)
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector
from kafka_py.common.node import Node
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.time import Time

# Errors after which the same question, asked of the leader that there is then, may be answered.
PASSING = (OSError, RetriableException, ReplicaNotAvailableException, BrokerNotAvailableException)


class ClientSettings(NamedTuple):
    """Whom to ask, and how long to wait; picklable, so that tasks can be given it."""

    bootstrap: tuple[Node, ...]
    client_id: str
    request_timeout_ms: int
    security_protocol: str

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ClientSettings:
        """From client properties (names without ``kafka.``). Raises ValueError for what no client could use."""
        protocol = properties.get("security.protocol", "PLAINTEXT").upper()
        if protocol != "PLAINTEXT":
            raise ValueError(f"kafka.security.protocol {protocol} is not supported: only PLAINTEXT is")
        return cls(
            bootstrap_nodes(properties.get(BOOTSTRAP_SERVERS_CONFIG, "")),
            properties.get("client.id", "kafka_py-spark"),
            int(properties.get("request.timeout.ms", 30_000)),
            protocol,
        )


def bootstrap_nodes(addresses: str) -> tuple[Node, ...]:
    """``host:port,host:port`` as nodes with ids below zero. Raises ValueError if there is none to connect to."""
    try:
        found = ClientUtils.parse_and_validate_addresses(part.strip() for part in addresses.split(","))
    except ConfigException as e:
        raise ValueError(str(e)) from e
    return tuple(Cluster.bootstrap(found).nodes())


class Question(NamedTuple):
    """A request that was sent, to be exchanged for its answer."""

    node: Node
    correlation_id: int


class BrokerClient:
    """Connections to the brokers of one cluster.

    Thread: the one that made it
    """

    def __init__(self, settings: ClientSettings, time: Time = Time.SYSTEM) -> None:
        """Connects only when something is asked."""
        self._settings = settings
        self._time = time
        self._metrics = Metrics(time=time)
        selector = Selector(
            NetworkReceive.UNLIMITED,
            Selector.NO_IDLE_TIMEOUT_MS,
            self._metrics,
            time,
            "spark",
            {},
            ChannelBuilders.client_channel_builder(SecurityProtocol.for_name(settings.security_protocol)),
            metrics_per_connection=False,
        )
        self._client = NetworkClient(
            selector,
            ManualMetadataUpdater(),
            settings.client_id,
            1,  # in flight: whoever asks two things at once must take the first answer before
            0,  # a lost connection may be tried again at once: the askers have pauses of their own
            0,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            settings.request_timeout_ms,
            time,
            True,
            ApiVersions(),
        )
        self._brokers: list[Node] = []  # thread: of its owner
        self._answers: dict[int, ClientResponse] = {}  # by correlation id, until somebody takes them

    def start(self, node: Node, request: AbstractRequest.Builder) -> Question:
        """Send without waiting; one question per node at a time. OSError when the node cannot be reached in time."""
        timeout_ms = self._settings.request_timeout_ms
        try:
            if not NetworkClientUtils.await_ready(self._client, node, self._time, timeout_ms):
                raise TimeoutError(f"Failed to connect to {node} within {timeout_ms} ms")
            now = self._time.milliseconds()
            asked = self._client.new_client_request(node.id_string(), request, now, True, self._keep_answer)
            self._client.send(asked, now)
        except OSError:
            self._client.close(node.id_string())
            raise
        return Question(node, asked.correlation_id())

    def finish(self, question: Question) -> AbstractResponse:
        """The answer, within the request timeout. Raises OSError when the connection is lost before it is here, and
        UnsupportedVersionException when the broker does not understand any version of the request."""
        while question.correlation_id not in self._answers:
            is_sent = self._client.has_in_flight_requests(question.node.id_string())
            self._client.poll(LONG_MAX if is_sent else 0, self._time.milliseconds())  # 0: why it was not sent
            if not is_sent and question.correlation_id not in self._answers:
                raise ConnectionError(f"Connection to {question.node} was given up before it answered")
        answer = self._answers.pop(question.correlation_id)
        if answer.was_disconnected():
            raise ConnectionError(f"Connection to {question.node} was lost before it answered")
        mismatch = answer.version_mismatch()
        if mismatch is not None:
            raise mismatch
        body = answer.response_body()
        assert body is not None, "an answer that was waited for has a body"
        return body

    def is_answered(self, question: Question) -> bool:
        """Whether finish would return, or raise, at once."""
        self._client.poll(0, self._time.milliseconds())
        node_id = question.node.id_string()
        return question.correlation_id in self._answers or not self._client.has_in_flight_requests(node_id)

    def _keep_answer(self, answer: ClientResponse) -> None:
        """Answers of one broker may come while another one is being connected to, asked or waited for."""
        self._answers[answer.request_header().correlation_id] = answer

    def ask(self, node: Node, request: AbstractRequest.Builder) -> AbstractResponse:
        """Send and wait; raises as start and finish do."""
        return self.finish(self.start(node, request))

    def ask_any(self, request: AbstractRequest.Builder) -> AbstractResponse:
        """The answer of the first broker that can be reached; OSError when none can."""
        failure: OSError | None = None
        for node in [*self._brokers, *self._settings.bootstrap]:
            try:
                return self.ask(node, request)
            except OSError as e:
                failure = e
        assert failure is not None, "there is at least one bootstrap server"
        raise failure

    def metadata(self, topics: Sequence[str] | None, create: bool = False) -> MetadataResponse:
        """Brokers and leaders of these topics (None: of all), which may be created. OSError when nobody answers."""
        allow_creation = create or topics is None  # makes a difference for named topics only
        response = self.ask_any(MetadataRequest.Builder(None if topics is None else list(topics), allow_creation))
        assert isinstance(response, MetadataResponse)
        self._brokers = list(response.brokers())
        return response

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
        self._metrics.close()
