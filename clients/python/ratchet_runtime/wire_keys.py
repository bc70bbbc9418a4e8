"""The form of an identity for destinations that do not take it as it is: spec/wire-keys.md, recipe 2."""

from __future__ import annotations

import hmac
import uuid


def wire_key(
    secret: bytes,
    *,
    namespace: str,
    operation: str,
    key: str,
    generation: int = 1,
    step: str = "",
    account: str = "",
    region: str = "",
    route: str = "",
    version: int = 8,
) -> str:
    """The UUID that stands for an identity, for destinations that do not take it as it is."""
    if len(secret) < 32:
        raise ValueError("the secret of wire keys has at least 32 bytes")
    parts = ["ratchet wire key 2", namespace, operation, key, str(generation), step, account, region, route]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in (text.encode() for text in parts))
    made = bytearray(hmac.digest(secret, message, "sha256")[:16])
    made[6] = made[6] & 0x0F | version << 4
    made[8] = made[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(made)))
