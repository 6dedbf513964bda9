# The Debian 12 packages inferd needs, and how to get them. Sourced by the scripts and by the
# Dockerfile's build stage; this is the one list.

# To build the daemon, the clients and the workbench.
BUILD_PACKAGES=(
  g++ cmake ninja-build pkg-config
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev
  libonnx-dev libdnnl-dev libre2-dev libicu-dev
  libspdlog-dev libyaml-cpp-dev prometheus-cpp-dev
  libboost-dev libsimdjson-dev rapidjson-dev libssl-dev zlib1g-dev
  libjpeg-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev libturbojpeg0-dev
  curl                      # scripts/serve asks the daemon whether it is ready
)

# To build and run the tests and benchmarks as well.
TEST_PACKAGES=(
  libgtest-dev libgmock-dev libbenchmark-dev
  libonnx-testdata          # ONNX's own operator tests
  prometheus                # promtool
  python3 python3-venv ca-certificates
)

# To run the built daemon: the shared libraries BUILD_PACKAGES link to. Only the Dockerfile's
# runtime stage needs the list; elsewhere they came with the development packages.
RUNTIME_PACKAGES=(
  libgrpc++1.51 libprotobuf32 libabsl20220623 libonnx1 libdnnl2 libre2-9 libicu72
  libspdlog1.10 libyaml-cpp0.7 libprometheus-cpp-core1.0
  libsimdjson14 libssl3 zlib1g libjpeg62-turbo libpng16-16 libtiff6 libwebp7
  libopenjp2-7 libturbojpeg0 ca-certificates
)

# install_packages NAME...: installs those that are missing, as root or through sudo. Does not
# touch the network when nothing is missing.
install_packages() {
  local missing=() name
  for name in "$@"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" != installed ]; then
      missing+=("$name")
    fi
  done
  [ "${#missing[@]}" -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "error: these packages are missing and need root to install: ${missing[*]}" >&2
      echo "       run this as root, or install sudo" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
