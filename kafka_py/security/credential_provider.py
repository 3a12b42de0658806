"""Where SASL finds the credentials of users.

Mirrors: core/src/main/scala/kafka/security/CredentialProvider.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafka_py.common.security.authenticator.credential_cache import CredentialCache
from kafka_py.common.security.scram.scram_credential import ScramCredential, ScramCredentialUtils
from kafka_py.common.security.scram.scram_mechanism import ScramMechanism


class CredentialProvider:
    """SCRAM credentials, kept up to date from ZooKeeper, and delegation tokens.

    Mirrors: kafka.security.CredentialProvider @ 3.7.1
    Thread:  network threads read, the thread of config notifications writes.
    Left out: userCredentialConfigs, updateCredential, removeCredentials -- the first is where ZooKeeper's user configs
        are checked, the others belong to KRaft
    """

    def __init__(self, scram_mechanisms: Collection[str], token_cache: Any = None) -> None:
        """``scram_mechanisms`` are the enabled SASL mechanisms; ``token_cache`` the delegation tokens' cache."""
        self.token_cache = token_cache
        self.credential_cache = CredentialCache()
        ScramCredentialUtils.create_cache(self.credential_cache, scram_mechanisms)

    def update_credentials(self, username: str, config: Mapping[str, str]) -> None:
        """Take a user's new config: a mechanism it does not name loses the user. Raises ValueError."""
        for mechanism in ScramMechanism:
            name = mechanism.mechanism_name()
            cache = self.credential_cache.cache(name, ScramCredential)
            if cache is None:
                continue
            text = config.get(name)
            if text is None:
                cache.remove(username)
            else:
                cache.put(username, ScramCredentialUtils.credential_from_string(text))
