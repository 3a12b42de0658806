"""A KafkaApis whose collaborators are small doubles, and requests made of real bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.request_context import RequestContext
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.network.request_channel import Request, RequestChannel
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.server.api_version_manager import SimpleApiVersionManager
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.fetch_session import FetchManager, FetchSessionCache
from kafka_py.server.kafka_apis import KafkaApis
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.metadata_cache import MetadataCache
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.testing.mock_time import MockTime

PLAINTEXT = ListenerName("PLAINTEXT")


class RecordingChannel:
    """Stands for the request channel: keeps what became of each request."""

    def __init__(self) -> None:
        self.responses: list[AbstractResponse] = []
        self.no_ops: list[Request] = []
        self.closed: list[dict[Errors, int]] = []

    def send_response(self, request: Request, response: AbstractResponse, on_complete: object) -> None:
        # Every answer must be writable in the version that was asked for.
        request.build_response_send(response)
        self.responses.append(response)

    def send_no_op_response(self, request: Request) -> None:
        self.no_ops.append(request)

    def close_connection(self, request: Request, error_counts: Mapping[Errors, int]) -> None:
        self.closed.append(dict(error_counts))


class RecordingAuthorizer:
    """Refuses some operations."""

    def __init__(self, *refused: Operation) -> None:
        self.refused = refused
        self.asked: list[tuple[Operation, str]] = []

    def authorize(self, session: object, operation: Operation, resource: Resource) -> bool:
        self.asked.append((operation, str(resource)))
        return operation not in self.refused


def kafka_config(**props: Any) -> KafkaConfig:
    given = {name.replace("__", "."): str(value) for name, value in props.items()}
    return KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": "1", **given}, do_log=False)


class Apis:
    """The KafkaApis under test and the doubles around it."""

    def __init__(
        self, authorizer: RecordingAuthorizer | None = None, replica_manager: Any = None, admin_manager: Any = None,
        **props: Any,
    ) -> None:  # fmt: skip
        self.time = MockTime()
        self.config = kafka_config(**props)
        self.channel = RecordingChannel()
        self.metrics = Metrics(time=self.time)
        self.quotas = QuotaFactory.instantiate(self.config, self.metrics, self.time)
        self.metadata_cache = MetadataCache(1)
        self.appended: list[dict[str, Any]] = []
        self.fetched: list[tuple[Any, ...]] = []
        self.replica_manager = replica_manager or SimpleNamespace(
            append_records=lambda **kwargs: self.appended.append(kwargs),
            fetch_messages=lambda *args: self.fetched.append(args),
            get_magic=lambda tp: 2,
        )
        self.controller = SimpleNamespace(is_active=True, broker_epoch=-1)
        self.admin_manager = admin_manager or SimpleNamespace(
            has_delayed_topic_operations=False, await_first_metadata=lambda answer: answer()
        )
        self.txn_coordinator = SimpleNamespace()
        self.group_coordinator = SimpleNamespace()
        self.broker_topic_stats = BrokerTopicStats()
        self.apis = KafkaApis(
            cast("Any", self.channel),
            cast("Any", self.replica_manager),
            cast("Any", self.admin_manager),
            cast("Any", self.group_coordinator),
            cast("Any", self.txn_coordinator),
            cast("Any", self.controller),
            cast("Any", SimpleNamespace()),
            1,
            self.config,
            self.metadata_cache,
            self.metrics,
            cast("Any", authorizer),
            self.quotas,
            FetchManager(self.time, FetchSessionCache(10, 120000)),
            self.broker_topic_stats,
            "cluster-id",
            self.time,
            api_version_manager=SimpleApiVersionManager("broker", KafkaApis.HANDLERS),
        )
        self.request_metrics = RequestChannel.Metrics(list(KafkaApis.HANDLERS))

    def close(self) -> None:
        self.broker_topic_stats.close()
        self.request_metrics.close()
        self.metrics.close()

    def request(self, body: AbstractRequest, client_id: str = "client") -> Request:
        """The request as the network layer would hand it over."""
        header = RequestHeader(body.API_KEY, body.version(), client_id, 7)
        data = memoryview(bytearray(body.serialize(header)))
        context = RequestContext(
            RequestHeader.parse(data), "conn-1", "127.0.0.1", KafkaPrincipal.ANONYMOUS, PLAINTEXT,
            SecurityProtocol.PLAINTEXT,
        )  # fmt: skip
        return Request(0, context, 0, MemoryPool.NONE, data, self.request_metrics)

    def handle(self, body: AbstractRequest, client_id: str = "client") -> Any:
        """Handle a request and answer its response; None when there is none (yet)."""
        before = len(self.channel.responses)
        self.apis.handle(self.request(body, client_id))
        return self.channel.responses[-1] if len(self.channel.responses) > before else None

    def update_metadata(self, *topics: str, **what: Any) -> None:
        self.metadata_cache.update_cache(0, update_metadata(topics, **what))


def update_metadata(
    topics: tuple[str, ...],
    partitions: int = 1,
    leader: int = 1,
    replicas: tuple[int, ...] = (1,),
    brokers: tuple[int, ...] = (1,),
    controller: int = 1,
    isr: tuple[int, ...] | None = None,
    leader_epoch: int = 0,
) -> UpdateMetadataRequest:
    """What the controller sends about topics that all look alike."""
    states = {
        TopicPartition(topic, p): UpdateMetadataRequest.PartitionState(
            1, leader, leader_epoch, list(replicas if isr is None else isr), 0, list(replicas), []
        )
        for topic in topics
        for p in range(partitions)
    }
    live = {
        UpdateMetadataRequest.Broker(
            b, [UpdateMetadataRequest.EndPoint(f"broker{b}", 9092, SecurityProtocol.PLAINTEXT, PLAINTEXT)], f"rack{b}"
        )
        for b in brokers
    }
    return UpdateMetadataRequest(ApiKeys.UPDATE_METADATA.latest_version(), controller, 1, states, live)


Callback = Callable[..., None]
