# Builds inferd with the steps of its own scripts and ships it in a slim image.
#
#   docker build -t inferd .
#   docker run --rm -p 8000:8000 -p 8001:8001 -p 8002:8002 -v "$PWD/models:/models:ro" inferd

FROM debian:12-slim AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /src
# The package list first, so that its layer is kept until the list changes.
COPY scripts/lib scripts/lib
RUN . scripts/lib/packages.sh && install_packages "${BUILD_PACKAGES[@]}" && \
    rm -rf /var/lib/apt/lists/*
COPY . .
RUN . scripts/lib/build.sh && \
    configure_preset release -DINFERD_BUILD_TESTS=OFF -DINFERD_BUILD_BENCHMARKS=OFF && \
    build_preset release inferd inferctl inferplan && \
    strip build/release/bin/inferd build/release/bin/inferctl build/release/bin/inferplan

FROM debian:12-slim
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
COPY scripts/lib/packages.sh /tmp/packages.sh
# curl asks for the health check.
RUN . /tmp/packages.sh && install_packages "${RUNTIME_PACKAGES[@]}" curl && \
    rm -rf /var/lib/apt/lists/* /tmp/packages.sh && \
    useradd --system --uid 10001 --no-create-home inferd && mkdir /models
COPY --from=build /src/build/release/bin/ /usr/local/bin/
USER inferd
VOLUME /models
EXPOSE 8000 8001 8002
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["curl", "-sf", "-o", "/dev/null", "http://127.0.0.1:8000/v2/health/ready"]
ENTRYPOINT ["inferd", "serve", "--models", "/models"]
