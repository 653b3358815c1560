"""Reads PDF files for another process: `python -I -S _worker.py EXTENSION read-pdf`.

The extension is loaded by its path, so that no package of the user's is found in its stead and nothing else is imported.
"""

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

if __name__ == "__main__":
    extension, command = sys.argv[1:]
    loader = ExtensionFileLoader("_moot", extension)
    spec = spec_from_file_location("_moot", extension, loader=loader)
    if spec is None:
        sys.exit(f"expected the extension of moot, found {extension}")
    module = module_from_spec(spec)
    loader.exec_module(module)
    sys.exit(module.main(["moot", command]))
