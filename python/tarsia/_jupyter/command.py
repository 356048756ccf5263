"""`tarsia jupyter`: makes the kernel known to Jupyter.

    tarsia jupyter install [--user | --sys-prefix | --prefix FOLDER]
    tarsia jupyter uninstall [--user | --sys-prefix | --prefix FOLDER]
"""

import argparse
import json
import os
import sys
import tempfile

NAME = "tarsia"
_SPEC = {"argv": [sys.executable, "-m", "tarsia._jupyter", "-f", "{connection_file}"], "display_name": "C++ and CUDA (Tarsia)",
         "language": "c++", "interrupt_mode": "signal"}


def parser():
    made = argparse.ArgumentParser(
        prog="tarsia jupyter", description="Makes the kernel 'tarsia' known to Jupyter: notebooks of C++ and CUDA.",
        epilog="Without an option it is --sys-prefix in a virtual environment, and --user outside of one.")
    made.add_argument("what", choices=["install", "uninstall"])
    place = made.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for this user")
    place.add_argument("--sys-prefix", action="store_true", help=f"in Python's own folder, {sys.prefix}")
    place.add_argument("--prefix", metavar="FOLDER", help="in FOLDER/share/jupyter/kernels")
    return made


def main(arguments=None):
    given = parser().parse_args(arguments)
    try:
        import ipykernel  # noqa: F401  (the kernel needs it)
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_core.paths import jupyter_data_dir
    except ImportError as error:
        sys.stderr.write(f"tarsia jupyter: {error}. The kernel needs ipykernel: pip install 'tarsia[jupyter]'\n")
        return 1
    prefix = given.prefix
    if prefix is None and (given.sys_prefix or not given.user and sys.prefix != sys.base_prefix):
        prefix = sys.prefix
    data = os.path.join(os.path.abspath(prefix), "share", "jupyter") if prefix is not None else jupyter_data_dir()
    try:
        if given.what == "install":
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)  # what is copied from it is for all who may read the place
                with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
                    json.dump(_SPEC, file, indent=1)
                path = KernelSpecManager().install_kernel_spec(folder, NAME, user=prefix is None, prefix=prefix)
            print(f"installed the kernel '{NAME}': {path}")
        else:
            manager = KernelSpecManager(ensure_native_kernel=False)
            manager.kernel_dirs = [os.path.join(data, "kernels")]
            print(f"removed the kernel '{NAME}': {manager.remove_kernel_spec(NAME)}")
    except KeyError:  # jupyter_client's NoSuchKernel is one
        sys.stderr.write(f"tarsia jupyter: there is no kernel '{NAME}' in {os.path.join(data, 'kernels')}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"tarsia jupyter: {error.strerror}: {error.filename}; --user and --prefix name other places\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
