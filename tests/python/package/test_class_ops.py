"""scripts/class-ops: which published class operators Tarsia takes, of checkouts that include what they like."""

import os
import pathlib
import re
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parents[3] / "scripts" / "class-ops"
OPERATOR = """
#include <mxnet/operator.h>
#include "./{header}"
namespace mxnet {{
namespace op {{
struct Same : Operator {{
  void Forward(const OpContext&, const std::vector<TBlob>&, const std::vector<OpReqType>&, const std::vector<TBlob>&,
               const std::vector<TBlob>&) override {{}}
}};
struct SameProp : OperatorProperty {{
  void Init(const std::vector<std::pair<std::string, std::string>>&) override {{}}
  std::map<std::string, std::string> GetParams() const override {{ return {{}}; }}
  bool InferShape(std::vector<TShape>* in, std::vector<TShape>* out, std::vector<TShape>*) const override {{
    out->assign(k_outputs, in->at(0));
    return true;
  }}
  OperatorProperty* Copy() const override {{ return new SameProp(); }}
  std::string TypeString() const override {{ return "{name}"; }}
  Operator* CreateOperator(Context) const override {{ return new Same(); }}
}};
MXNET_REGISTER_OP_PROPERTY({name}, SameProp);
}}  // namespace op
}}  // namespace mxnet
"""


def class_ops(*arguments, cwd=None):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


def test_a_checkout_that_includes_headers_beyond_it(tmp_path):
    place = tmp_path / "mxnet" / "tag" / "src" / "operator"
    place.mkdir(parents=True)
    (tmp_path / "mxnet" / "beyond.h").write_text("const int k_outputs = 1;\n")
    (place / "within.h").write_text("const int k_outputs = 1;\n")
    (place / "within.cc").write_text(OPERATOR.format(name="within_checkout", header="within.h"))
    (place / "beyond.cc").write_text(OPERATOR.format(name="beyond_checkout", header="../../../beyond.h"))
    (place / "none.cc").write_text("int x;\n")
    (tmp_path / "other").mkdir()
    done = class_ops(os.path.join("..", "mxnet"), "tag", "--cpu", "--jobs", 1, "--report", tmp_path / "report", cwd=tmp_path / "other")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "report").read_text()
    assert "1 of 2 taken" in report and "beyond.h' file not found" in report, report
    assert re.match(r"\$ scripts/class-ops MXNET tag --cpu( +# commit [0-9a-f]+.*)?\n", report), report
    done = class_ops(tmp_path / "other" / ".." / "mxnet", "tag", "--cpu", "--only", "within")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 taken" in done.stdout and "MXNET tag --cpu --only within" in done.stdout, done.stdout


def test_operators_with_cases_are_tested(tmp_path):
    """One that writes nothing, one whose process dies, one that computes what it should, and one without cases."""
    place = tmp_path / "tag" / "src" / "operator"
    place.mkdir(parents=True)
    outputs = "const int k_outputs = 1;\n"
    (place / "outputs.h").write_text(outputs)
    same = OPERATOR.format(name="MakeLoss", header="outputs.h")
    body = "std::vector<TBlob>&) override {}"
    assert body in same
    (place / "none.cc").write_text(same)
    (place / "dies.cc").write_text(same.replace(body, "std::vector<TBlob>&) override { __builtin_trap(); }"))
    copies = same.replace("const std::vector<TBlob>&, const std::vector<OpReqType>&, const std::vector<TBlob>&,",
                          "const std::vector<TBlob>& in, const std::vector<OpReqType>& req, const std::vector<TBlob>& out,")
    copies = copies.replace(body, """std::vector<TBlob>&) override {
    MSHADOW_REAL_TYPE_SWITCH(in[0].type_flag_, T, {
      mshadow::Tensor<cpu, 2, T> y = out[0].FlatTo2D<cpu, T>(nullptr);
      ASSIGN_DISPATCH(y, req[0], (in[0].FlatTo2D<cpu, T>(nullptr)));
    })
  }""").replace("#include <mxnet/operator.h>", "#include <mxnet/operator.h>\n#include \"operator_common.h\"")
    (place / "copies.cc").write_text(copies)
    (place / "other.cc").write_text(OPERATOR.format(name="no_cases", header="outputs.h"))
    done = class_ops(tmp_path, "tag", "--cpu", "--check", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert "tag      .cc alone    1 of 3 cases pass" in done.stdout, done.stdout
    failed = done.stdout[done.stdout.index("failed:"):]
    assert "forward writes every element: output 'output'" in failed and "SIGILL" in failed, failed


def test_each_option_has_help():
    said = class_ops("--help").stdout
    for option in ("--only NAME", "--cpu", "--check", "--jobs N", "--report FILE"):
        assert re.search(re.escape(option) + r"\s+\w+", said[said.index("options:"):]), said
