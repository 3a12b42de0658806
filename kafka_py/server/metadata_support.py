"""The collaborators of KafkaApis that depend on how the cluster keeps its metadata.

Mirrors: core/src/main/scala/kafka/server/MetadataSupport.scala @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class ZkSupport:
    """The bundle of a broker whose cluster keeps its metadata in ZooKeeper.

    Mirrors: core/src/main/scala/kafka/server/MetadataSupport.scala/ZkSupport @ 3.7.1
    Differs: has no forwarding manager: a 1.1.1 client finds the controller itself. KafkaApis has the parts under their
        names of 1.1.1 as well, and its handlers use those; the bundle waits for a second mode (KRaft) to tell from.
    Left out: maybeForward, canForward, requireZkOrThrow, requireRaftOrThrow, ensureConsistentWith -- there is one mode
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
