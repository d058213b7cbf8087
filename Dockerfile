# syntax=docker/dockerfile:1
# The image of the gateway (docs/image.md). Its work is done by tools/image/build_root.py; `make image-root` plays this
# file in a clean root, without a container engine. For an image that can be made again, name Python by its digest:
#   docker build --build-arg PYTHON=python@sha256:... --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) .
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS build
ARG SOURCE_DATE_EPOCH=0
WORKDIR /src
COPY LICENSE README.md pyproject.toml requirements.lock ./
COPY gateway gateway/
COPY policies policies/
COPY sdk sdk/
COPY tools/image tools/image/
RUN python3.11 tools/image/build_root.py /image

# With a shell and Debian's tools, for `interlock toolbox` with its tool `bash`: docker build --target toolbox .
FROM ${PYTHON} AS toolbox
RUN find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=build /image/root/opt/ /opt/
COPY --from=build /image/root/usr/share/doc/interlock/ /usr/share/doc/interlock/
ENV PATH=/opt/interlock/bin:/usr/local/bin:/usr/bin:/bin HOME=/tmp
USER 65532:65532
WORKDIR /tmp
HEALTHCHECK NONE
ENTRYPOINT ["/opt/interlock/bin/interlock"]
CMD ["toolbox", "--help"]

# Python, the gateway and the libraries that both load; no shell, no package manager, nothing that changes users.
FROM scratch AS gateway
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="Interlock" \
      org.opencontainers.image.description="A policy-as-code safety gateway between AI agents and their tools." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image/root/ /
COPY --from=build --chown=65532:65532 /image/state/ /var/lib/interlock/
ENV PATH=/opt/interlock/bin HOME=/var/lib/interlock PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /var/lib/interlock
EXPOSE 7080 7081 7082 7090 7443 9464
HEALTHCHECK NONE
ENTRYPOINT ["/opt/interlock/bin/interlock"]
CMD ["serve"]
