"""Snapshots of what reaches beyond one broker: controller, groups, transactions, ZooKeeper, the cluster.

Ours, no original. They are read as state.py tells, without locks; only the view of ZooKeeper asks over the network.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.errors import KafkaException

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.coordinator.group.group_metadata import GroupMetadata
    from kafka_py.coordinator.group.member_metadata import MemberMetadata
    from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata
    from kafka_py.server.kafka_server import KafkaServer
    from kafka_py.xray.xray import Xray

Json = dict[str, Any]
MOST_NODES = 400
MOST_DATA = 1024
MOST_ITEMS = 500


def controller(server: KafkaServer, query: Mapping[str, str]) -> Json | None:
    """Who is the controller, as this broker knows it; on the controller itself what it has to do and knows."""
    own = server.kafka_controller
    if own is None:
        return None
    context = own.controller_context
    waiting = own.event_manager.waiting()[:MOST_ITEMS]
    return {
        "id": own.active_controller_id,
        "epoch": context.epoch,
        "active": own.is_active,
        "state": own.event_manager.state.name,
        "queue": [{"event": type(event).__name__, "waitingMs": ms} for event, ms in waiting],
        "partitionStates": _counted(own.partition_state_machine._partition_state.copy()),
        "replicaStates": _counted(own.replica_state_machine._replica_state.copy()),
        "brokers": _channels(context.controller_channel_manager, server.xray),
    }


def _counted(states: Mapping[Any, Any]) -> dict[str, int]:
    return dict(Counter(str(getattr(state, "name", None) or type(state).__name__) for state in states.values()))


def _channels(manager: Any, xray: Xray | None) -> list[Json]:
    """Each broker, how many requests wait for it, and the last that went there while somebody watched."""
    if manager is None:
        return []
    infos = manager._broker_state_info.copy()
    return [
        {"id": id, "queued": info.message_queue.size(), "sent": [] if xray is None else xray.sent_by_controller.to(id)}
        for id, info in sorted(infos.items())
    ]


# -- groups and transactions


def groups(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """The groups whose coordinator this broker is."""
    if server.group_coordinator is None:
        return []
    there = list(server.group_coordinator.group_manager.current_groups)
    return [_group(server, group) for group in sorted(there, key=lambda group: group.group_id)[:MOST_ITEMS]]


def _group(server: KafkaServer, group: GroupMetadata) -> Json:
    deadlines = _deadlines(server)
    return {
        "id": group.group_id,
        "state": group.current_state.name,
        "generation": group.generation_id,
        "protocol": group.protocol_name,
        "leader": group.leader_or_null,
        "members": [
            _member(member, deadlines.get((group.group_id, member.member_id)))
            for member in list(group._members.values())[:MOST_ITEMS]
        ],
        "offsets": [
            {"topic": tp.topic, "partition": tp.partition, "offset": record.offset_and_metadata.offset}
            for tp, record in sorted(group._offsets.copy().items())[:MOST_ITEMS]
        ],
    }


def _member(member: MemberMetadata, deadline_ms: int | None) -> Json:
    return {
        "id": member.member_id,
        "client": member.client_id,
        "host": member.client_host,
        "sessionMs": member.session_timeout_ms,
        "deadlineMs": deadline_ms,
        "partitions": _assigned(member.assignment),
    }


def _deadlines(server: KafkaServer) -> dict[tuple[str, str], int]:
    """When each member's session ends, in ms from now, as its heartbeat's place in the timing wheel tells."""
    found: dict[tuple[str, str], int] = {}
    assert server.group_coordinator is not None
    now = server.time.hi_res_clock_ms()
    for watchers in list(server.group_coordinator.heartbeat_purgatory._watchers_for_key.values):
        for operation in list(watchers._operations):
            entry = operation._timer_task_entry
            if entry is not None and not operation.is_completed:
                key = watchers.key
                found[getattr(key, "group_id", ""), getattr(key, "consumer_id", "")] = entry.expiration_ms - now
    return found


def _assigned(assignment: bytes) -> list[str] | None:
    """`topic-partition` of each, if it is a consumer's; None for what is in no form we know."""
    if not assignment:
        return []
    try:
        return [str(tp) for tp in ConsumerProtocol.deserialize_assignment(assignment).partitions]
    except (KafkaException, ValueError, IndexError):
        return None


def transactions(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """The transactional ids whose coordinator this broker is."""
    if server.transaction_coordinator is None:
        return []
    cache = server.transaction_coordinator._txn_manager.transaction_metadata_cache.copy()
    there: Iterable[TransactionMetadata] = (
        metadata for entry in cache.values() for metadata in list(entry.metadata_per_transactional_id.values)
    )
    return [_transaction(each) for each in sorted(there, key=lambda each: each.transactional_id)[:MOST_ITEMS]]


def _transaction(metadata: TransactionMetadata) -> Json:
    return {
        "id": metadata.transactional_id,
        "producerId": metadata.producer_id,
        "epoch": metadata.producer_epoch,
        "state": metadata.state.name,
        "partitions": sorted(map(str, metadata.topic_partitions.copy()))[:MOST_ITEMS],
        "timeoutMs": metadata.txn_timeout_ms,
        "startedMs": metadata.txn_start_timestamp,
    }


# -- ZooKeeper


class NotConnected(Exception):
    """ZooKeeper cannot be asked now; who asks would wait."""


def zookeeper(server: KafkaServer, query: Mapping[str, str]) -> Json:
    """The tree, breadth first and at most 400 nodes of it, and the nodes this broker is told about.

    Raises NotConnected.
    """
    client = server.zk_client
    if not client.is_connected:
        raise NotConnected("no connection to ZooKeeper")
    inner = client._zoo_keeper_client
    watches = sorted({*inner._znode_change_handlers.copy(), *inner._znode_child_change_handlers.copy()})
    root: Json = {"name": "/", "children": [], "data": "", "ephemeral": False, "watched": "/" in watches}
    waiting = deque([("", root)])
    left = MOST_NODES
    while waiting and left > 0:
        path, node = waiting.popleft()
        for name in sorted(client.get_children(path or "/"))[:left]:
            left -= 1
            child = _node(client, f"{path}/{name}", name, watches)
            node["children"].append(child)
            waiting.append((f"{path}/{name}", child))
    return {"tree": root, "watches": watches}


def _node(client: Any, path: str, name: str, watches: list[str]) -> Json:
    data, stat = client.get_data_and_stat(path)
    return {
        "name": name,
        "children": [],
        "data": (data or b"")[:MOST_DATA].decode("utf-8", "replace"),
        "ephemeral": bool(getattr(stat, "ephemeralOwner", 0)),
        "watched": path in watches,
    }


# -- the cluster


def cluster(server: KafkaServer, query: Mapping[str, str]) -> Json | None:
    """Brokers, leaders and in-sync replicas as the controller has told them, and the lag of the groups seen here."""
    if server.metadata_cache is None:
        return None
    snapshot = server.metadata_cache._snapshot
    states = [
        (topic, partition, state.base_partition_state)
        for topic, partitions in list(snapshot.cache.items())
        for partition, state in list(partitions.items())
    ]
    return {
        "brokers": [_broker(each) for _, each in sorted(snapshot.alive_brokers.items())],
        "leaders": dict(Counter(str(state.leader) for _, _, state in states)),
        "underReplicated": [f"{topic}-{n}" for topic, n, state in states if len(state.isr) < len(state.replicas)],
        "lag": _lag(server),
    }


def _broker(broker: Any) -> Json:
    end_point = next(iter(broker.end_points), None)
    host, port = (None, None) if end_point is None else (end_point.host, end_point.port)
    return {"id": broker.id, "host": host, "port": port, "alive": True}


def _lag(server: KafkaServer) -> list[Json]:
    """Of the groups and partitions that are both here."""
    if server.group_coordinator is None or server.replica_manager is None:
        return []
    found = []
    for group in list(server.group_coordinator.group_manager.current_groups):
        for tp, record in list(group._offsets.copy().items()):
            log = server.replica_manager.get_log(tp)
            if log is not None:
                committed, end = record.offset_and_metadata.offset, log.high_watermark
                told = {"group": group.group_id, "topic": tp.topic, "partition": tp.partition}
                found.append({**told, "committed": committed, "end": end, "lag": max(0, end - committed)})
    return found[:MOST_ITEMS]
