"""The headers of class operators are found, however a source includes them."""

import pathlib

import numpy as np
import pytest

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


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


def test_sources_with_the_old_strings_of_libstdcxx_compile_the_glue_themselves():
    library = tarsia.load_inline((SRC / "gate.cc").read_text().replace("Gate", "OldGate"), defines={"_GLIBCXX_USE_CXX11_ABI": 0})
    y = tarsia.ops.OldGate(np.float32([[1, -1]]), bounds=(0.0,), times=3)
    assert np.asarray(y).tolist() == [[3, 0]]
    library.unload()


def test_parameters_alone_need_no_operator():
    library = tarsia.load_inline("""
#include <dmlc/parameter.h>
#include <string>
#include <vector>
struct Settings : dmlc::Parameter<Settings> {
  int width;
  std::string name;
  std::vector<float> weights;
  DMLC_DECLARE_PARAMETER(Settings) {
    DMLC_DECLARE_FIELD(width).set_range(1, 9);
    DMLC_DECLARE_FIELD(name).set_default("none");
  }
};
DMLC_REGISTER_PARAMETER(Settings);
std::string named(const std::string& width, const std::string& name) {
  Settings settings;
  settings.Init(std::vector<std::pair<std::string, std::string>>{{"width", width}, {"name", name}});
  return settings.name + std::to_string(settings.width);
}
""")
    assert library.named("3", "x") == "x3"
    with pytest.raises(tarsia.Error, match="value 12 for Parameter width exceed bound"):
        library.named("12", "x")
