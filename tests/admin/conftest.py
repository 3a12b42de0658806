from __future__ import annotations

from tests.embedded.servers import apache_server, embedded_server, server, zk_connect

__all__ = ["apache_server", "embedded_server", "server", "zk_connect"]
