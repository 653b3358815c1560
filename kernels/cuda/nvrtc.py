"""Compiles every kernel with another CUDA's compiler library, which pip has where it has no nvcc of that version.

    pip install --target FOLDER --no-deps nvidia-cuda-nvrtc-cu12==12.4.127 nvidia-cuda-runtime-cu12==12.4.127
    python kernels/cuda/nvrtc.py FOLDER 80,89,90

Architectures are as 90 for compute capability 9.0. Ends with exit code 1 if a kernel does not compile.
"""

import ctypes
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
# NVRTC has no headers of C; the kernels use these names alone.
STDINT = """#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef unsigned short uint16_t;
typedef unsigned uint32_t; typedef unsigned long long uint64_t; typedef unsigned long uintptr_t;
"""


def compiled(library, source, options):
    """What the compiler says if it refuses `source`."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    if library.nvrtcCompileProgram(program, len(options), words) == 0:
        return None
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    return log.value.decode()


def main():
    """Every source for every architecture."""
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    folder, refused = Path(sys.argv[1]) / "nvidia", 0
    library = ctypes.CDLL(str(next((folder / "cuda_nvrtc/lib").glob("libnvrtc.so.*"))))
    with tempfile.TemporaryDirectory() as headers:
        Path(headers, "stdint.h").write_text(STDINT)
        for architecture in sys.argv[2].split(","):
            for source in sorted(SOURCES.glob("*.cu")):
                said = compiled(library, source, [
                    f"-arch=sm_{architecture}", "-std=c++17", "-fmad=false", "-default-device", f"-I{headers}",
                    f"-I{folder}/cuda_runtime/include", f"-I{SOURCES}", "-DINFINITY=__int_as_float(0x7f800000)"])
                print(f"{source.name} for {architecture}: {'refused' if said else 'compiles'}", flush=True)
                refused += said is not None
                if said:
                    print(said, file=sys.stderr)
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
