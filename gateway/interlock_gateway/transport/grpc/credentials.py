"""The gateway's certificate as grpcio takes it: asked for anew with each handshake."""

from typing import cast

import grpc

from interlock_gateway.transport.tls.server_tls import Material, ServerTls


def changing_credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Credentials that follow what `tls` has read of its files."""
    given = tls.material

    def changed() -> grpc.ServerCertificateConfiguration:
        # Called on threads of grpcio's. A handshake that begins at the same moment may get what there was before.
        nonlocal given
        if given is tls.material:
            return cast("grpc.ServerCertificateConfiguration", None)  # says that nothing has changed; the stubs do not
        given = tls.material
        return _configuration(given)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(given), changed, require_client_authentication=tls.requires_certificates
    )


def _configuration(material: Material) -> grpc.ServerCertificateConfiguration:
    pair = (material.key, material.certificate)
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=material.authorities)
