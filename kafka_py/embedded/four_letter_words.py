"""ZooKeeper's four-letter words: what an administrator, or `nc`, may ask a server without a session."""

from __future__ import annotations

import ipaddress
import os
import platform
import resource
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_py.embedded.zookeeper_server import ServerCnxn, ZooKeeperServer

VERSION: Final = "3.9.0-kafka_py, embedded, for one machine only"


def _ruok(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    return "imok"


def _isro(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    return "rw"


def _outstanding(server: ZooKeeperServer) -> int:
    return sum(connection.outstanding for connection in server.held)


def _srvr(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    return (
        f"Zookeeper version: {VERSION}\n"
        f"Latency min/avg/max: 0/0.0/0\n"
        f"Received: {server.received}\n"
        f"Sent: {server.sent}\n"
        f"Connections: {len(server.connections)}\n"
        f"Outstanding: {_outstanding(server)}\n"
        f"Zxid: 0x{server.tree.last_zxid:x}\n"
        f"Mode: standalone\n"
        f"Node count: {len(server.tree.nodes)}\n"
    )


def _cons(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    lines = [
        f" /{c.address[0]}:{c.address[1]}[{0 if c is asking else 1}](queued=0,recved={c.received},sent={c.sent})"
        for c in server.connections
    ]
    return "\n".join(lines) + "\n\n"


def _stat(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    version, rest = _srvr(server, asking).split("\n", 1)
    return f"{version}\nClients:\n{_cons(server, asking)}{rest}"


def _mntr(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    tree = server.tree
    values = {
        "zk_version": VERSION,
        "zk_server_state": "standalone",
        "zk_avg_latency": 0,
        "zk_max_latency": 0,
        "zk_min_latency": 0,
        "zk_packets_received": server.received,
        "zk_packets_sent": server.sent,
        "zk_num_alive_connections": len(server.connections),
        "zk_outstanding_requests": _outstanding(server),
        "zk_znode_count": len(tree.nodes),
        "zk_watch_count": server.processor.watches.size,
        "zk_ephemerals_count": sum(map(len, tree.ephemerals.values())),
        "zk_approximate_data_size": tree.approximate_data_size(),
        "zk_global_sessions": len(tree.sessions),
        "zk_open_file_descriptor_count": len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else -1,
        "zk_max_file_descriptor_count": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
    return "".join(f"{name}\t{value}\n" for name, value in values.items())


def _conf(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    return (
        f"clientPort={server.port}\n"
        f"dataDir={os.fspath(server.data_dir)}\n"
        f"tickTime={server.tick_time}\n"
        f"maxClientCnxns={server.max_client_cnxns}\n"
        f"minSessionTimeout={server.min_session_timeout}\n"
        f"maxSessionTimeout={server.max_session_timeout}\n"
        f"serverId=0\n"
    )


def _envi(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    return (
        f"Environment:\n"
        f"zookeeper.version={VERSION}\n"
        f"host.name={socket.gethostname()}\n"
        f"python.version={platform.python_version()}\n"
        f"os.name={platform.system()}\n"
        f"user.dir={os.getcwd()}\n"
    )


def _hold(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    """Ours: let the server's clock stand, so that no session expires; kafka.py.xray=step, from this machine only."""
    return _set_clock(server, asking, stand=True)


def _goon(server: ZooKeeperServer, asking: ServerCnxn) -> str:
    """Ours: let the clock go on from where it stood."""
    return _set_clock(server, asking, stand=False)


def _set_clock(server: ZooKeeperServer, asking: ServerCnxn, stand: bool) -> str:
    clock = server.held_time
    if clock is None or not ipaddress.ip_address(asking.address[0]).is_loopback:
        return "This ZooKeeper's clock cannot be held."
    if stand:
        clock.stand()
    else:
        clock.go_on()
    return "held" if stand else "on"


COMMANDS: Final[dict[bytes, Callable[[ZooKeeperServer, ServerCnxn], str]]] = {
    b"ruok": _ruok,
    b"isro": _isro,
    b"srvr": _srvr,
    b"stat": _stat,
    b"cons": _cons,
    b"mntr": _mntr,
    b"conf": _conf,
    b"envi": _envi,
    b"hold": _hold,
    b"goon": _goon,
}
