"""The collaborators of KafkaApis that depend on how the cluster keeps its metadata.

Mirrors: core/src/main/scala/kafka/server/MetadataSupport.scala @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import IllegalStateException

if TYPE_CHECKING:
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class ZkSupport:
    """The bundle of a broker whose cluster keeps its metadata in ZooKeeper.

    Mirrors: core/src/main/scala/kafka/server/MetadataSupport.scala/ZkSupport @ 3.7.1
    Differs: has no forwarding manager: a 1.1.1 client finds the controller itself.
    Left out: maybeForward -- requests are not forwarded
    """

    def __init__(
        self,
        admin_manager: AdminManager,
        controller: KafkaController,
        zk_client: KafkaZkClient,
        forwarding_manager: Any,
        metadata_cache: MetadataCache,
    ) -> None:
        """Keep the parts; forwarding_manager is None."""
        self.admin_manager = admin_manager
        self.controller = controller
        self.zk_client = zk_client
        self.forwarding_manager = forwarding_manager
        self.metadata_cache = metadata_cache

    def require_zk_or_throw(self, create_exception: Any) -> ZkSupport:
        """This: the mode is ZooKeeper's."""
        return self

    def require_raft_or_throw(self, create_exception: Any) -> ZkSupport:
        """Raise what the caller makes: there is no metadata log here."""
        raise create_exception()

    def ensure_consistent_with(self, config: Any) -> None:
        """Raise IllegalStateException unless the configuration names a ZooKeeper."""
        if not config.zk_connect:
            raise IllegalStateException("Config specifies Raft but metadata support instance is for ZooKeeper")

    def can_forward(self) -> bool:
        """Never."""
        return False
