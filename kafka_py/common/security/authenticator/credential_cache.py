"""Credentials of users, by mechanism.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/authenticator/CredentialCache.java @ 3.7.1
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from kafka_py.utils.concurrent import ConcurrentHashMap

C = TypeVar("C")


class Cache(Generic[C]):
    """The credentials of one mechanism.

    Mirrors: org.apache.kafka.common.security.authenticator.CredentialCache.Cache @ 3.7.1
    Thread:  any.
    """

    def __init__(self, credential_class: type[C]) -> None:
        self._credential_class = credential_class
        self._credentials: ConcurrentHashMap[str, C] = ConcurrentHashMap()

    def get(self, username: str) -> C | None:
        """A user's credential."""
        return self._credentials.get(username)

    def put(self, username: str, credential: C) -> C | None:
        """Set a user's credential; the one before."""
        return self._credentials.put(username, credential)

    def remove(self, username: str) -> C | None:
        """Take a user's credential away; the one there was."""
        return self._credentials.remove(username)

    def credential_class(self) -> type[C]:
        """The class of the credentials."""
        return self._credential_class


class CredentialCache:
    """A cache for each enabled mechanism.

    Mirrors: org.apache.kafka.common.security.authenticator.CredentialCache @ 3.7.1
    Thread:  any.
    """

    def __init__(self) -> None:
        self._cache_map: ConcurrentHashMap[str, Cache[Any]] = ConcurrentHashMap()

    def create_cache(self, mechanism: str, credential_class: type[C]) -> Cache[C]:
        """The mechanism's cache, made if there is none. Raises ValueError for another class than before."""
        cache = self._cache_map.compute_if_absent(mechanism, lambda _: Cache(credential_class))
        return self._checked(cache, credential_class)

    def cache(self, mechanism: str, credential_class: type[C]) -> Cache[C] | None:
        """The mechanism's cache, or None. Raises ValueError for another class than it was made with."""
        cache = self._cache_map.get(mechanism)
        return None if cache is None else self._checked(cache, credential_class)

    @staticmethod
    def _checked(cache: Cache[Any], credential_class: type[C]) -> Cache[C]:
        if cache.credential_class() is not credential_class:
            raise ValueError(f"Invalid credential class {credential_class}, expected {cache.credential_class()}")
        return cache
