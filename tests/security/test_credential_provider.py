"""SCRAM credentials as ZooKeeper keeps them."""

from __future__ import annotations

import pytest

from kafka_py.common.security.scram.scram_credential import ScramCredential, ScramCredentialUtils
from kafka_py.common.security.scram.scram_mechanism import ScramMechanism
from kafka_py.security.credential_provider import CredentialProvider

CREDENTIAL = ScramCredential(b"salt!", b"stored", b"server", 4096)
TEXT = "salt=c2FsdCE=,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"


def test_text_and_back() -> None:
    assert ScramCredentialUtils.credential_to_string(CREDENTIAL) == TEXT
    read = ScramCredentialUtils.credential_from_string(TEXT)
    assert (read.salt(), read.stored_key(), read.server_key(), read.iterations()) == (
        b"salt!",
        b"stored",
        b"server",
        4096,
    )
    assert repr(read) == "ScramCredential(iterations=4096)", "keys stay out of logs"


@pytest.mark.parametrize(
    "text", ["", "abc", TEXT[:-16], TEXT.replace("c2FsdCE=", "%%"), TEXT + "x", TEXT.replace("salt", "pepper")]
)
def test_bad_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"Credentials not valid|invalid literal"):
        ScramCredentialUtils.credential_from_string(text)


def test_users_come_and_go() -> None:
    provider = CredentialProvider(["SCRAM-SHA-256", "PLAIN"])
    assert provider.credential_cache.cache("SCRAM-SHA-512", ScramCredential) is None
    cache = provider.credential_cache.cache("SCRAM-SHA-256", ScramCredential)
    assert cache is not None
    provider.update_credentials("alice", {"SCRAM-SHA-256": TEXT, "SCRAM-SHA-512": TEXT})
    alice = cache.get("alice")
    assert alice is not None
    assert alice.iterations() == 4096
    provider.update_credentials("alice", {})
    assert cache.get("alice") is None
    with pytest.raises(ValueError, match="Invalid credential class"):
        provider.credential_cache.cache("SCRAM-SHA-256", str)


def test_mechanisms() -> None:
    assert ScramMechanism.mechanism_names() == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert ScramMechanism.for_mechanism_name("SCRAM-SHA-512") is ScramMechanism.SCRAM_SHA_512
    assert (ScramMechanism.SCRAM_SHA_512.hash_algorithm(), ScramMechanism.SCRAM_SHA_512.min_iterations()) == (
        "SHA-512",
        4096,
    )
    assert not ScramMechanism.is_scram("PLAIN")
