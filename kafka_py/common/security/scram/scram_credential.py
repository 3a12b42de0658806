"""What a broker keeps of a user's password.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/scram/ScramCredential.java @ 3.7.1
         clients/src/main/java/org/apache/kafka/common/security/scram/internals/ScramCredentialUtils.java @ 3.7.1
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from kafka_py.common.security.authenticator.credential_cache import CredentialCache
from kafka_py.common.security.scram.scram_mechanism import ScramMechanism


class ScramCredential:
    """Salt, stored key, server key and iterations; neither the password nor what it is salted to.

    Mirrors: org.apache.kafka.common.security.scram.ScramCredential @ 3.7.1
    """

    __slots__ = ("_iterations", "_salt", "_server_key", "_stored_key")

    def __init__(self, salt: bytes, stored_key: bytes, server_key: bytes, iterations: int) -> None:
        self._salt = salt
        self._stored_key = stored_key
        self._server_key = server_key
        self._iterations = iterations

    def salt(self) -> bytes:
        """The salt."""
        return self._salt

    def stored_key(self) -> bytes:
        """The hash of the client's key."""
        return self._stored_key

    def server_key(self) -> bytes:
        """The key the server proves itself with."""
        return self._server_key

    def iterations(self) -> int:
        """Rounds of PBKDF2."""
        return self._iterations

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self._iterations})"


class ScramCredentialUtils:
    """Credentials to text, as ZooKeeper keeps them, and back.

    Mirrors: org.apache.kafka.common.security.scram.internals.ScramCredentialUtils @ 3.7.1
    """

    @staticmethod
    def credential_to_string(credential: ScramCredential) -> str:
        """``salt=..,stored_key=..,server_key=..,iterations=..``, the first three in base 64."""
        salt, stored, server = (
            base64.b64encode(part).decode()
            for part in (credential.salt(), credential.stored_key(), credential.server_key())
        )
        return f"salt={salt},stored_key={stored},server_key={server},iterations={credential.iterations()}"

    @staticmethod
    def credential_from_string(text: str) -> ScramCredential:
        """The inverse. Raises ValueError."""
        parts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        if len(parts) != 4 or not parts.keys() >= {"salt", "stored_key", "server_key", "iterations"}:
            raise ValueError("Credentials not valid: expected salt, stored_key, server_key and iterations")
        try:
            salt, stored, server = (
                base64.b64decode(parts[name], validate=True) for name in ("salt", "stored_key", "server_key")
            )
        except binascii.Error as e:
            raise ValueError("Credentials not valid: not in base 64") from e
        return ScramCredential(salt, stored, server, int(parts["iterations"]))

    @staticmethod
    def create_cache(cache: CredentialCache, mechanisms: Iterable[str]) -> None:
        """Make the caches of those mechanisms that are SCRAM."""
        for mechanism in ScramMechanism.mechanism_names():
            if mechanism in mechanisms:
                cache.create_cache(mechanism, ScramCredential)
