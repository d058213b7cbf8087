"""What can go wrong with an artifact. Messages are safe to show: no host path, no address of a backend.

InterlockError
└── ArtifactError
    ├── ArtifactUriError       not exactly `artifact://<session>/<sha256>`
    ├── ArtifactNotFoundError  nothing is stored under that URI
    ├── ArtifactSearchError    the pattern cannot be used
    └── ArtifactStoreError     the store cannot be read or written: full, gone, forbidden, damaged
"""

from interlock_gateway.errors import InterlockError


class ArtifactError(InterlockError):
    """Root of what the artifact store raises."""


class ArtifactUriError(ArtifactError):
    """The text is not an artifact URI."""


class ArtifactNotFoundError(ArtifactError):
    """Nothing is stored under the URI."""


class ArtifactSearchError(ArtifactError):
    """The search pattern cannot be used; the message says why."""


class ArtifactStoreError(ArtifactError):
    """The store could not do what was asked; an error on that result, not an outage (ART-4)."""
