"""Who may ask the X-ray's pages what.

Ours, no original. The pages are read on the machine itself. A page of another site that is open in the same browser
must neither read them (DNS rebinding: the Host header tells) nor push a button (the token, which no other page knows).
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import urllib.parse
from collections.abc import Mapping

TOKEN_HEADER = "x-xray-token"
# What a page may do at all. Scripts and styles come from files of ours only, so that no name of a topic or a client,
# however it came onto the page, is ever run.
_POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# The same for pages whose elements have styles of their own, and that show nothing of what a broker was sent.
STYLED = f"{_POLICY}; style-src 'self' 'unsafe-inline'"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Guard:
    """Knows the token and the names under which the pages may be asked for.

    Thread: any; it never changes.
    """

    def __init__(self, listener_host: str = "127.0.0.1", token: str | None = None) -> None:
        """``listener_host`` is where the HTTP port listens; the token is made up unless one is given."""
        self.token = secrets.token_urlsafe(18) if token is None else token
        self._listener_host = listener_host.strip("[]").lower()

    @property
    def host_for_links(self) -> str:
        """The host for a link that is to work on this machine."""
        host = "127.0.0.1" if self._listener_host in ("", "0.0.0.0", "::", "localhost") else self._listener_host
        return f"[{host}]" if ":" in host else host

    def refuses(self, method: str, headers: Mapping[str, str]) -> str | None:
        """Why a request with these headers (names in lower case) gets a 403; None if it does not."""
        if not self._is_ours(_host_of(headers.get("host", ""))):
            return "the Host header names neither this machine nor the address that is listened on"
        origin = headers.get("origin")
        if origin is not None and not self._is_same(origin, headers.get("host", "")):
            return "a page of another origin asks"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "a page of another site asks"
        if method != "GET" and not self._knows_token(headers.get(TOKEN_HEADER, "")):
            return "the token is missing or wrong: open the link that was printed when the broker started"
        return None

    def _knows_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _is_ours(self, host: str) -> bool:
        if host in ("localhost", self._listener_host):
            return bool(host)
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @staticmethod
    def _is_same(origin: str, host: str) -> bool:
        """Whether the page that asks came from where it asks."""
        url = urllib.parse.urlsplit(origin)
        return url.scheme == "http" and url.netloc.lower() == host.lower()


def _host_of(header: str) -> str:
    """The name in a Host header, without port and brackets; empty for what is none."""
    try:
        return (urllib.parse.urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""
