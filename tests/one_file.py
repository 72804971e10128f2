"""Script of test_add_in_one_file.py: give a package another folder, and run a script.

Registries look at every module of their package when they are first used, so the folder is added
before anything else is imported. Arguments: the package, the folder, and the script and its
arguments.
"""

from __future__ import annotations

import importlib
import runpy
import sys

if __name__ == "__main__":
    package, folder, *sys.argv = sys.argv[1:]
    importlib.import_module(package).__path__.append(folder)
    runpy.run_path(sys.argv[0], run_name="__main__")
