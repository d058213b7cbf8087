"""Tokens of OpenID providers: their keys, how they are verified, and whom they stand for (AUTH-1)."""
