#!/bin/sh
# Builds moot for NVIDIA GPUs: `sh kernels/cuda/build.sh`. With arguments it runs cargo with these instead.
#
# Three build scripts ask for CUDA in three ways: ours takes NVCC, cudarc takes the nvcc of PATH or CUDARC_CUDA_VERSION,
# and Candle takes CUDA_COMPUTE_CAP or asks the driver. This finds nvcc and tells all three.
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

if [ -z "${CUDA_COMPUTE_CAP:-}" ]; then
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '.[:space:]') || true
  [ -n "$found" ] || fail "no GPU is here to ask: CUDA_COMPUTE_CAP names the capability to build for, as 90 for 9.0"
  CUDA_COMPUTE_CAP=$found
fi
export CUDA_COMPUTE_CAP NVCC="$nvcc" CUDARC_CUDA_VERSION="${CUDARC_CUDA_VERSION:-$((major * 1000 + minor * 10))}"
echo "build.sh: CUDA $major.$minor ($nvcc), compute capability $CUDA_COMPUTE_CAP" >&2
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- build --release --features cuda
exec cargo "$@"
