#!/bin/sh
# Builds moot for NVIDIA GPUs: `sh kernels/cuda/build.sh`. With arguments it runs cargo with these instead.
#
# Three build scripts ask for CUDA in three ways: ours takes NVCC, cudarc takes the nvcc of PATH or CUDARC_CUDA_VERSION,
# and Candle takes CUDA_COMPUTE_CAP or asks the driver. cudarc names the linker's folders by CUDA_HOME. This finds nvcc
# and tells all three, and looks for the libraries first: they are linked last, behind minutes of compiling.
set -eu

fail() { printf 'build.sh: %s\n' "$1" >&2; exit 1; }

nvcc=${NVCC:-}
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
  [ -n "$nvcc" ] || [ -z "$folder" ] || [ ! -x "$folder/bin/nvcc" ] || nvcc=$folder/bin/nvcc
done
[ -n "$nvcc" ] || nvcc=$(command -v nvcc) ||
  fail "expected CUDA's compiler nvcc in /usr/local/cuda or on PATH, found none; NVCC or CUDA_HOME names another place"
"$nvcc" --version >/dev/null 2>&1 || fail "$nvcc --version fails"

# "release 13.0, V13.0.88" is 13000 for cudarc.
version=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1)
[ -n "$version" ] || fail "$nvcc --version names no release"
major=${version% *} minor=${version#* }
[ "$major" -gt 12 ] || { [ "$major" -eq 12 ] && [ "$minor" -ge 4 ]; } ||
  fail "expected CUDA 12.4 or newer, found $major.$minor ($nvcc)"

if [ -z "${CUDARC_CUDA_VERSION:-}" ]; then
  # cudarc 0.19.10 knows these and refuses all others. Libraries keep the functions of earlier versions.
  for known in 12040 12050 12060 12080 12090 13000 13010 13020 13030 13040; do
    [ "$known" -gt "$((major * 1000 + minor * 10))" ] || CUDARC_CUDA_VERSION=$known
  done
  [ "$CUDARC_CUDA_VERSION" = "$((major * 1000 + minor * 10))" ] ||
    echo "build.sh: cudarc does not know CUDA $major.$minor: CUDARC_CUDA_VERSION=$CUDARC_CUDA_VERSION" >&2
fi

# Whether the linker finds lib$1.so: in a folder that cudarc names, in LIBRARY_PATH, or in the system's.
links() (
  IFS=:
  for folder in ${LIBRARY_PATH:-}; do
    [ ! -e "$folder/lib$1.so" ] || exit 0
  done
  homes=${CUDA_HOME:-}:${CUDA_PATH:-}:${CUDA_ROOT:-}:${CUDA_TOOLKIT_ROOT_DIR:-}
  [ "$homes" != ::: ] || homes=/usr/local/cuda:/opt/cuda:/usr/lib/cuda
  homes=$homes:/usr
  for home in $homes; do
    for folder in lib lib/stubs "lib/$(uname -m)-linux-gnu" lib64 lib64/stubs targets/x86_64-linux/lib \
      targets/x86_64-linux/lib/stubs; do
      [ -z "$home" ] || [ ! -e "$home/$folder/lib$1.so" ] || exit 0
    done
  done
  exit 1
)

if [ -z "${CUDA_HOME:-}${CUDA_PATH:-}${CUDA_ROOT:-}${CUDA_TOOLKIT_ROOT_DIR:-}" ]; then
  # The libraries are beside the folder of nvcc, or of the file that it is a link to.
  path=$(command -v "$nvcc")
  for bin in "$(dirname "$path")" "$(dirname "$(readlink -f "$path")")"; do
    if [ -e "$bin/../lib64/libcudart.so" ] || [ -e "$bin/../lib/libcudart.so" ]; then
      CUDA_HOME=$(cd "$bin/.." && pwd)
      export CUDA_HOME
      break
    fi
  done
fi

case ${1:-build} in
  # Nothing is linked.
  check | clippy | doc | fmt | fetch | tree | metadata) ;;
  *)
    for name in cuda cudart cublas cublasLt curand nvrtc; do
      links "$name" && continue
      case $name in
        cuda) hint="a toolkit has one to link with in lib64/stubs" ;;
        *) hint="Python's wheels have it with a number behind .so, which needs a link without" ;;
      esac
      echo "build.sh: no lib$name.so below ${CUDA_HOME:-${CUDA_PATH:-/usr/local/cuda}} or in LIBRARY_PATH; linking may fail: \
$hint; CUDA_HOME names the toolkit, LIBRARY_PATH more folders" >&2
    done
    ;;
esac

if [ -z "${CUDA_COMPUTE_CAP:-}" ]; then
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '.[:space:]') || true
  [ -n "$found" ] || fail "no GPU is here to ask: CUDA_COMPUTE_CAP names the capability to build for, as 90 for 9.0"
  CUDA_COMPUTE_CAP=$found
fi
export CUDA_COMPUTE_CAP NVCC="$nvcc" CUDARC_CUDA_VERSION
echo "build.sh: CUDA $major.$minor ($nvcc), compute capability $CUDA_COMPUTE_CAP" >&2
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- build --release --features cuda
exec cargo "$@"
