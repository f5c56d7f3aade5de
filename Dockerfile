# The image of `wattpack serve`: installed from the lock file, hash by hash; kernels compiled at build time, so that a
# pod starts without a compiler run; a user without rights.
#   docker build --tag REGISTRY/wattpack:0.1.0 .
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
RUN python -m venv /opt/wattpack/venv
WORKDIR /build
# First the locked packages: this layer stays as long as the lock file does.
COPY locks/serve.txt locks/serve.txt
RUN /opt/wattpack/venv/bin/python -m pip install --require-hashes --only-binary :all: --no-compile --requirement locks/serve.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN /opt/wattpack/venv/bin/python -m pip install --no-deps --no-build-isolation --no-compile . \
    # What only the installation needed.
    && /opt/wattpack/venv/bin/python -m pip uninstall --yes --quiet editables hatchling pathspec pluggy tomlkit trove-classifiers pip
# By hash, not by time: layers of an image keep no parts of seconds, and on a read-only root nothing is compiled anew.
RUN python -m compileall -q -j 0 -x '/tests?/' --invalidation-mode unchecked-hash /opt/wattpack/venv/lib
# For any machine of this architecture: numba finds a kernel again only for a processor of the same name.
ENV NUMBA_CPU_NAME=generic
ENV WATTPACK_CACHE=/opt/wattpack/cache
COPY deploy/bake_kernels.py deploy/bake_kernels.py
# Readable by every user, who may be another than ours: wattpack makes the folder for its owner alone.
RUN /opt/wattpack/venv/bin/python deploy/bake_kernels.py && chmod -R a+rX /opt/wattpack/cache

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="wattpack" \
      org.opencontainers.image.description="Power- and fragmentation-aware placement of GPU pods" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/wattpack/venv /opt/wattpack/venv
COPY LICENSE NOTICE /opt/wattpack/
# numba uses a cache folder only if it may write to it. On a read-only root, copy it to a volume and name that in
# WATTPACK_CACHE, as the chart does.
COPY --from=build --chown=65532:65532 /opt/wattpack/cache /opt/wattpack/cache
ENV PATH=/opt/wattpack/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    NUMBA_CPU_NAME=generic \
    WATTPACK_CACHE=/opt/wattpack/cache
USER 65532:65532
EXPOSE 8888 9090
ENTRYPOINT ["wattpack"]
CMD ["serve"]
