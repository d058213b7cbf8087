"""Why a bundle is refused: a closed set of codes, and a sentence for an operator."""

from enum import StrEnum

from interlock_gateway.policy.settings import PolicySourceError

ANY_BUNDLE = "bundle"


class BundleFault(StrEnum):
    """What is wrong with a bundle."""

    UNREACHABLE = "bundle_unreachable"
    TOO_LARGE = "bundle_too_large"
    MALFORMED = "bundle_malformed"
    UNSIGNED = "bundle_unsigned"
    NO_KEY = "bundle_no_key"
    KEY_ID_MISSING = "bundle_key_id_missing"
    UNKNOWN_KEY = "bundle_unknown_key"
    SIGNATURE = "bundle_signature"
    SCOPE = "bundle_scope"
    FILE_NOT_SIGNED = "bundle_file_not_signed"
    FILE_MISSING = "bundle_file_missing"
    FILE_CHANGED = "bundle_file_changed"
    WITHOUT_ORDER = "bundle_without_order"
    OLDER = "bundle_older"
    NOT_LOADABLE = "bundle_not_loadable"


class BundleError(PolicySourceError):
    """A bundle is not acceptable; `place` is the bundle or the file in it that is wrong."""

    def __init__(self, fault: BundleFault, problem: str, place: str = ANY_BUNDLE) -> None:
        super().__init__(place, problem)
        self.fault = fault
