"""Prints, for every broker of a cluster, which versions of which API it offers.

Mirrors: core/src/main/scala/kafka/admin/BrokerApiVersionsCommand.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.client_utils import ClientUtils
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.clients.network_client_utils import NetworkClientUtils
from kafka_py.clients.node_api_versions import NodeApiVersions
from kafka_py.common.cluster import Cluster
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.time import Time
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionParser

if TYPE_CHECKING:
    from kafka_py.common.node import Node
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse

_TIMEOUT_MS = 10_000


class AdminClient:
    """Asks brokers, one request after the other.

    Mirrors: the part of kafka.admin.AdminClient that this tool needs
    """

    def __init__(self, bootstrap: list[Node]) -> None:
        self._time: Time = Time.SYSTEM
        self._metrics = Metrics(time=self._time)
        self._bootstrap = bootstrap
        selector = Selector(
            NetworkReceive.UNLIMITED,
            Selector.NO_IDLE_TIMEOUT_MS,
            self._metrics,
            self._time,
            "admin",
            {},
            ChannelBuilders.client_channel_builder(SecurityProtocol.PLAINTEXT),
        )
        self._client = NetworkClient(
            selector,
            ManualMetadataUpdater(bootstrap),
            "admin-1",
            1,
            50,
            50,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            _TIMEOUT_MS,
            self._time,
            True,
            ApiVersions(),
        )

    @classmethod
    def create(cls, bootstrap_servers: str) -> Self:
        """A client that begins with these brokers: host:port,host:port. Raises ConfigException if it cannot."""
        urls = (url.strip() for url in bootstrap_servers.split(","))
        return cls(Cluster.bootstrap(ClientUtils.parse_and_validate_addresses(urls)).nodes())

    def send(self, node: Node, request: AbstractRequest.Builder) -> AbstractResponse:
        """The node's answer; raises OSError when it cannot be reached or hangs up."""
        if not NetworkClientUtils.await_ready(self._client, node, self._time, _TIMEOUT_MS):
            raise TimeoutError(f"{node} did not answer within {_TIMEOUT_MS} ms")
        now = self._time.milliseconds()
        client_request = self._client.new_client_request(str(node.id), request, now, True)
        body = NetworkClientUtils.send_and_receive(self._client, client_request, self._time).response_body()
        assert body is not None, "an answered request has a body"
        return body

    def find_all_brokers(self) -> list[Node]:
        """All brokers that the first reachable bootstrap broker knows; raises the last failure if there is none."""
        failure: Exception = OSError("Request METADATA failed on brokers")
        for node in self._bootstrap:
            try:
                response = self.send(node, MetadataRequest.Builder.all_topics())
            except OSError as e:
                failure = e
                continue
            assert isinstance(response, MetadataResponse)
            return sorted(response.brokers(), key=lambda broker: broker.id)
        raise failure

    def list_all_broker_version_info(self) -> dict[Node, NodeApiVersions | Exception]:
        """What each broker offers, or why it could not be asked."""
        found: dict[Node, NodeApiVersions | Exception] = {}
        for node in self.find_all_brokers():
            try:
                response = self.send(node, ApiVersionsRequest.Builder(0))
                assert isinstance(response, ApiVersionsResponse)
                response.error().maybe_throw()
                found[node] = NodeApiVersions(response.api_versions)
            except Exception as e:  # noqa: BLE001 -- one broker's failure is part of the output
                found[node] = e
        return found

    def close(self) -> None:
        self._client.close()
        self._metrics.close()


class BrokerApiVersionsCommand:
    """The tool.

    Mirrors: kafka.admin.BrokerApiVersionsCommand
    Left out: main, createAdminClient -- main is the module's, the client is made in execute
    """

    @staticmethod
    def execute(args: list[str]) -> int:
        parser = OptionParser(allow_abbreviations=False)
        parser.accepts("command-config", "File of properties for the client (no security yet).").with_required_arg()
        server = parser.accepts("bootstrap-server", "REQUIRED: The server to connect to.").with_required_arg()
        server.described_as("server(s) to use for bootstrapping")
        options = CommandLineUtils.parse(parser, args)
        CommandLineUtils.check_required_args(parser, options, server)
        client = AdminClient.create(options.value_of(server))
        try:
            for broker, info in client.list_all_broker_version_info().items():
                text = f"ERROR: {info}" if isinstance(info, Exception) else info.to_string(line_breaks=True)
                print(f"{broker} -> {text}")
        finally:
            client.close()
        return 0


def main(args: list[str]) -> int:
    """0 when the brokers were listed; raises what there is to say when no broker could be reached, or was named."""
    return BrokerApiVersionsCommand.execute(args)
