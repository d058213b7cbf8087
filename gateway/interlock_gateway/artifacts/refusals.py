"""Why an object store refused, where it says so."""

# obstore has one kind of error for these and says them in words: credentials that nobody gives out, and a refusal to
# remove several objects at once.
_NO_CREDENTIALS_WORDS = ("performing token request", "/latest/api/token", "AssumeRoleWithWebIdentity")
_DENIED_WORDS = ("status code: 401", "status code: 403")


def refusal_of(error: Exception) -> str:
    """What an operator has to look at, told without anything that the store or its address may hold; or nothing."""
    said = str(error)
    if any(words in said for words in _NO_CREDENTIALS_WORDS):
        return "no credentials for it can be had"
    denied = type(error).__name__ in {"PermissionDeniedError", "UnauthenticatedError", "PermissionError"}
    return "permission denied" if denied or any(words in said for words in _DENIED_WORDS) else ""
