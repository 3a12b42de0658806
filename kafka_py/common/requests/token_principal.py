"""The principals that the delegation tokens' requests name.

Ours: the same two fields stand in four of them.
"""

from __future__ import annotations

from kafka_py.common.protocol.message import Message, field
from kafka_py.common.protocol.types.type import STRING


class TokenPrincipal(Message):
    """A principal by type and name."""

    principal_type: str = field(STRING)
    name: str = field(STRING)


class TokenOwner(TokenPrincipal, bare=True):
    """The owner of a token, whose fields became the token's own in flexible versions."""
