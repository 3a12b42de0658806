"""Asks a broker's X-ray, as a script would; docs/xray.md describes the answers.

Ours, no original.
"""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

from kafka_py.xray.security import TOKEN_HEADER

_TIMEOUT_S = 30


class XrayClient:
    """The X-ray of one broker.

    Every method raises OSError when the broker does not answer, ValueError when it refuses.
    """

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token

    def state(self, view: str, **query: str | int) -> Any:
        """One view of ``/xray/state``."""
        return self.get("state", view=view, **query)[view]

    def get(self, path: str, **query: str | int) -> Any:
        """What ``/xray/<path>`` answers, as JSON."""
        return self._ask("GET", f"/xray/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else ""))

    def beans(self, query: str) -> dict[str, dict[str, Any]]:
        """Metrics as `/jmx` tells them: the attributes of the beans that match a pattern such as ``*name=X,*``."""
        told = self._ask("GET", f"/jmx?{urllib.parse.urlencode({'qry': query})}")
        return {bean["name"]: bean for bean in told["beans"]}

    def post(self, path: str, **body: Any) -> Any:
        """Have it do something: hold, step, resume, slow, advance …"""
        return self._ask("POST", f"/xray/{path}", json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        connection = self._connection()
        try:
            headers = {TOKEN_HEADER: self._token, "Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            told = json.loads(response.read())
            if response.status != 200:
                raise ValueError(f"{path}: {told.get('error', response.status)}")
            return told
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_S)

    def events(self, after: int | None = None) -> Iterator[dict[str, Any]]:
        """Events as they come, from now or from behind an id; ends when the broker does, or is silent for 30 s."""
        connection = self._connection()
        try:
            begin = self.state("broker")["lastEvent"] if after is None else after
            connection.request("GET", f"/xray/events?after={begin}", headers={TOKEN_HEADER: self._token})
            for line in connection.getresponse():
                if line.startswith(b"data:"):
                    yield from json.loads(line.removeprefix(b"data:"))
        except (TimeoutError, ConnectionError, http.client.IncompleteRead):
            return
        finally:
            connection.close()
