"""What can go wrong with the audit log on disk. That it cannot be written now is `errors.AuditUnavailableError`."""

from interlock_gateway.errors import InterlockError


class AuditDamagedError(InterlockError):
    """The log may not be continued: changed, cut off, written with another key, in use; the message names the place."""
