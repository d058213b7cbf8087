"""What can go wrong with an artifact. Messages are safe to show: no host path, no address of a backend.

InterlockError
└── ArtifactError
    ├── ArtifactUriError       not exactly `artifact://<session>/<sha256>`
    ├── ArtifactNotFoundError  nothing is stored under that URI
    │   └── ArtifactRemovedError   it was, until its time was over or its place was needed
    ├── ArtifactSearchError    the pattern cannot be used
    └── ArtifactStoreError     the store cannot be read or written: full, gone, forbidden, damaged, silent
        ├── ArtifactLimitError     it would be more than its session, or the store, may hold
        └── ArtifactSilentError    the store does not answer
"""

from interlock_gateway.errors import InterlockError


class ArtifactError(InterlockError):
    """Root of what the artifact store raises."""


class ArtifactUriError(ArtifactError):
    """The text is not an artifact URI."""


class ArtifactNotFoundError(ArtifactError):
    """Nothing is stored under the URI."""


class ArtifactRemovedError(ArtifactNotFoundError):
    """It was stored, and retention removed it; the message says when (ART-4)."""


class ArtifactSearchError(ArtifactError):
    """The search pattern cannot be used; the message says why."""


class ArtifactStoreError(ArtifactError):
    """The store could not do what was asked; an error on that result, not an outage (ART-4)."""


class ArtifactLimitError(ArtifactStoreError):
    """Keeping it would exceed a limit; the message says which."""


class ArtifactSilentError(ArtifactStoreError):
    """The store did not answer in time."""
