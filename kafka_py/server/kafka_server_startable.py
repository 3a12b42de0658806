"""A KafkaServer whose failures end the process.

Mirrors: core/src/main/scala/kafka/server/KafkaServerStartable.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.common.utils.exit import Exit
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.server.kafka_server import KafkaServer


class KafkaServerStartable(Logging):
    """What Kafka.main starts.

    Mirrors: kafka.server.KafkaServerStartable
    Differs: the configuration is looked at before the server's modules are even imported, so that a mistake in it is
        told at once; unknown options are warned about, which Kafka does not do; a stop can be hurried.
    """

    def __init__(self, static_server_config: KafkaConfig) -> None:
        """Make the server, without starting it."""
        # Imported late, see above.
        from kafka_py.server.kafka_server import KafkaServer

        self.static_server_config = static_server_config
        self._server: KafkaServer = KafkaServer(static_server_config)

    @classmethod
    def from_props(cls, server_props: Mapping[str, Any]) -> KafkaServerStartable:
        """A startable of a configuration; raises what KafkaConfig raises."""
        config = KafkaConfig.from_props(server_props, do_log=False)
        config.log_unused()
        return cls(config)

    def startup(self) -> None:
        """Start the server; exit with status 1 when that fails."""
        try:
            self._server.startup()
        except Exception:  # noqa: BLE001 -- told by the server, which has shut down; what is left is the exit status
            self.fatal("Exiting Kafka.")
            Exit.exit(1)

    def shutdown(self) -> None:
        """Stop the server; halt with status 1 when that fails."""
        try:
            self._server.shutdown()
        except Exception:  # noqa: BLE001 -- told by the server
            self.fatal("Halting Kafka.")
            # exit() would wait for the shutdown hooks, one of which may be calling this.
            Exit.halt(1)

    def hurry_shutdown(self) -> None:
        """Have a stop under way wait for nobody any more."""
        self._server.hurry_shutdown()

    def set_server_state(self, new_state: int) -> None:
        """Show a state of one's own in the BrokerState metric."""
        self._server.broker_state.new_state(new_state)

    def await_shutdown(self) -> None:
        """Wait until the server is stopped."""
        self._server.await_shutdown()
