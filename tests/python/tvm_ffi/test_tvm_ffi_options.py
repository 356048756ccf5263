"""tarsia.tvm_ffi.options(), with and without the package."""

import importlib.util
import os
import subprocess
import sys

import pytest

import tarsia


def test_a_missing_package_is_an_error_with_the_remedy(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(tarsia.Error, match="needs tvm-ffi, which this Python does not have: pip install apache-tvm-ffi"):
        tarsia.tvm_ffi.options()


def test_a_package_without_headers_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "tvm_ffi").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "tvm_ffi", raising=False)
    importlib.invalidate_caches()
    with pytest.raises(tarsia.Error, match="lacks include/tvm/ffi/c_api.h or lib/libtvm_ffi.so: pip install apache-tvm-ffi"):
        tarsia.tvm_ffi.options()


def test_options_name_what_is_there_and_import_nothing():
    if not importlib.util.find_spec("tvm_ffi"):
        pytest.skip("needs apache-tvm-ffi")
    options = tarsia.tvm_ffi.options()
    assert set(options) == {"include_dirs", "library_dirs", "libraries"}
    assert all(map(os.path.isdir, [*options["include_dirs"], *options["library_dirs"]]))
    code = "import sys, tarsia\ntarsia.tvm_ffi.options()\nassert 'tvm_ffi' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
