"""The headers of class operators are found, however a source includes them."""

import pytest

import tarsia


@pytest.mark.parametrize("line", [
    "# include <mxnet/operator.h>",
    " #\tinclude\t<mxnet/base.h>",
    "#include <mxnet/resource.h>",
    "#include <mxnet/tensor_blob.h>",
    '#include "./mxnet_op.h"',
    '#include "../elemwise_op_common.h"',
    "#include<nnvm/tuple.h>",
])
def test_a_line(line):
    lib = tarsia.load_inline(line + "\nint one() { return mshadow::Shape1(1)[0]; }")
    assert lib.one() == 1
    lib.unload()


@pytest.mark.parametrize("form", ["<mine/{}.h>", '"mine/{}.h"'])
def test_through_headers_of_a_folder(tmp_path, form):
    (tmp_path / "mine").mkdir()
    for i in range(6):
        (tmp_path / "mine" / f"h{i}.h").write_text(f"#pragma once\n#include {form.format(f'h{i + 1}')}\n")
    (tmp_path / "mine" / "h6.h").write_text("#pragma once\n#include <mxnet/operator.h>\n#include <mine/h0.h>\n")
    lib = tarsia.load_inline("#include <mine/h0.h>\nint one() { return mshadow::Shape1(1)[0]; }", include_dirs=[tmp_path])
    assert lib.one() == 1
    lib.unload()
