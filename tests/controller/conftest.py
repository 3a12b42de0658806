from __future__ import annotations

from tests.embedded.servers import embedded_server

__all__ = ["embedded_server"]
