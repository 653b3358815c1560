#!/bin/sh
# Runs cargo with the stand-in for CUDA, so that what is built with `--features cuda` runs without a GPU:
#   sh kernels/tests/cuda_stand_in/cargo.sh test --release -p moot-models --features cuda --test gpu
# Needs a C++ compiler. MOOT_STAND_IN_GPUS=2 makes two devices, for `--test gpus`; driver.cpp names the other settings.
# What it builds is below target/cuda-stand-in, and runs only while the libraries there stay.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
# No build script sees that the emulation has changed, so each has a folder of its own.
sum=$(cat "$here/nvcc" "$here"/../cuda_host/*.hpp "$here"/include/*.h* | cksum | cut -d' ' -f1)
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/cuda-stand-in/$sum
mkdir -p "$CARGO_TARGET_DIR"
CARGO_TARGET_DIR=$(cd "$CARGO_TARGET_DIR" && pwd)
unset CUDARC_CUDA_VERSION CUDA_PATH CUDA_ROOT CUDA_TOOLKIT_ROOT_DIR
CUDA_HOME=$CARGO_TARGET_DIR/toolkit
mkdir -p "$CUDA_HOME/bin" "$CUDA_HOME/lib64" "$CUDA_HOME/include"
ln -sf "$here/nvcc" "$CUDA_HOME/bin/nvcc"
"${CXX:-c++}" -std=c++17 -O2 -w -shared -fPIC -fvisibility=hidden -Wl,-soname,libcuda.so -I "$here/../cuda_host" \
  -o "$CUDA_HOME/lib64/libcuda.so.new" "$here/driver.cpp" "$here/libraries.cpp" -ldl
# A program that runs keeps the one that it has loaded.
mv "$CUDA_HOME/lib64/libcuda.so.new" "$CUDA_HOME/lib64/libcuda.so"
for name in cudart cublas cublasLt curand nvrtc; do ln -sf libcuda.so "$CUDA_HOME/lib64/lib$name.so"; done
export CARGO_TARGET_DIR CUDA_HOME CUDA_COMPUTE_CAP=80 MOOT_CUDA_ARCHS=80
export NVCC="$CUDA_HOME/bin/nvcc" LD_LIBRARY_PATH="$CUDA_HOME/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec sh "$root/kernels/cuda/build.sh" "$@"
