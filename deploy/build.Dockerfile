# The images that Dockerfile starts from, for machines that reach a registry: compiled binaries, and
# the Debian bases. deploy/build.sh builds each target. offline/build.sh makes the same images
# without a registry.

FROM rust:1.95-bookworm AS compile
WORKDIR /src
COPY . .
# The folders of cargo are caches of the builder: a change compiles only what it affects.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist \
    && mkdir -p /binaries/empty \
    && cp target/dist/ouro target/dist/ouro-arena target/dist/ouro-learner target/dist/ouro-actor \
        /binaries/

FROM scratch AS binaries
COPY --from=compile /binaries /

# glibc and libgcc. No shell and no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot AS base

# The Vulkan loader, and the X library without which NVIDIA's driver does not load. The driver itself
# comes from the host. Mesa is left out: its software adapter would stand in for a missing driver.
FROM debian:bookworm-slim AS base-gpu
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libvulkan1 libxext6 \
    && rm -rf /var/lib/apt/lists/*

# Mesa's drivers for AMD and Intel, without its software adapter.
FROM base-gpu AS base-mesa
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends mesa-vulkan-drivers \
    && rm -rf /var/lib/apt/lists/* /usr/share/vulkan/icd.d/lvp_icd.*

# The last release of Redis under the BSD licence.
FROM redis:7.2-bookworm AS base-redis
