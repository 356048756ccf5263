"""`include_dirs` may name the folder that CUDA's headers come from anyway."""

import pathlib

import pytest

import tarsia

SOURCE = """#include <cuda_runtime.h>
#include <cuda_fp16.h>
__global__ void halve(__half* x) { *x = __float2half(__half2float(*x) / 2); }
int answer() { return 42; }
"""


def cuda_folders():
    """Where CUDA's headers are."""
    return sorted({line["path"] for line in tarsia.doctor()["lines"] if line["part"].startswith("CUDA") and line["found"]
                   and pathlib.Path(line["path"], "cuda_runtime.h").exists()})


@pytest.mark.parametrize("through_a_link", [False, True])
def test_it_is_as_if_they_did_not(tmp_path, through_a_link):
    folders = cuda_folders()
    assert folders
    if through_a_link:
        (tmp_path / "cuda").symlink_to(folders[0])
        folders = [str(tmp_path / "cuda")]
    text = SOURCE + f"// {tmp_path}\n"  # which no other run has compiled
    assert tarsia.load_inline(text).origin == "compiled"
    again = tarsia.load_inline(text, include_dirs=folders)
    assert again.origin == "memory" and again.answer() == 42


def test_another_folder_of_headers_is_the_sources_own(tmp_path):
    (tmp_path / "cuda_fp16.h").write_text("#pragma once\n#define ANSWER 7\n")
    lib = tarsia.load_inline("#include <cuda_fp16.h>\n__global__ void k(int* x) { *x = ANSWER; }\nint f() { return ANSWER; }\n",
                             include_dirs=[str(tmp_path)])
    assert lib.f() == 7
