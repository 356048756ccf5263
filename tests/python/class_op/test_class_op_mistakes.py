"""Mistakes in the declaration of a class operator: the library is refused, and the error names the op and the remedy."""

import pytest

import tarsia

SOURCE = """
#include <mxnet/operator.h>
namespace mxnet {{ namespace op {{
struct BadParam : public dmlc::Parameter<BadParam> {{
  int a, b;
  DMLC_DECLARE_PARAMETER(BadParam) {{
    DMLC_DECLARE_FIELD(a).set_default(1);
    DMLC_DECLARE_FIELD(b).set_default(1);
    {fields}
  }}
}};
class BadProp : public OperatorProperty {{
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override {{ param_.Init(kwargs); }}
  std::map<std::string, std::string> GetParams() const override {{ return param_.__DICT__(); }}
  bool InferShape(std::vector<TShape>* in, std::vector<TShape>* out, std::vector<TShape>*) const override {{
    *out = *in;
    return true;
  }}
  OperatorProperty* Copy() const override {{ return new BadProp(*this); }}
  std::string TypeString() const override {{ return "{type}"; }}
  Operator* CreateOperator(Context) const override {{ {create} }}
  {more}
 private:
  BadParam param_;
}};
DMLC_REGISTER_PARAMETER(BadParam);
MXNET_REGISTER_OP_PROPERTY(Bad, BadProp).add_arguments(BadParam::__FIELDS__());
}} }}
"""


def source(fields="", type="Bad", create="return nullptr;", more=""):
    return SOURCE.format(fields=fields, type=type, create=create, more=more)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"fields": "DMLC_DECLARE_FIELD(a).set_default(2);"}, "op 'Bad'.*declares the parameter 'a' twice"),
        ({"fields": "DMLC_DECLARE_ALIAS(c, d);"}, "op 'Bad'.*alias 'd' of 'c'"),
        ({"type": "Good"}, "op 'Bad'.*TypeString.*'Good'.*give both one name"),
        ({"more": "int NumVisibleOutputs() const override { return 3; }"}, "op 'Bad'.*NumVisibleOutputs"),
    ],
)
def test_the_library_is_refused(parts, message):
    with pytest.raises(tarsia.LoadError, match=message):
        tarsia.load_inline(source(**parts))


def test_a_property_that_makes_no_operator():
    import numpy as np

    lib = tarsia.load_inline(source())
    with pytest.raises(tarsia.OpError, match="Bad.*CreateOperator made no operator"):
        tarsia.ops.Bad(np.ones(3, np.float32))
    lib.unload()


def test_a_method_that_is_needed_and_missing_is_a_compile_error():
    with pytest.raises(tarsia.CompileError, match="abstract class type .BadProp.; write what it is to override: .TypeString."):
        tarsia.load_inline(source().replace("std::string TypeString() const override", "std::string Name() const"))
    with pytest.raises(tarsia.CompileError, match="write what it is to override: .area., .name."):
        tarsia.load_inline("struct Shape { virtual int area() = 0; virtual int name() = 0; };\nstruct Square : Shape {};\nint f() { return Square().area(); }")


@pytest.mark.parametrize("expression", ["b = a * 2.0f + 1.0f", "b += a", "c = mshadow::expr::sumall_except_dim<0>(a)"])
def test_an_expression_on_a_gpu_in_a_source_of_cpp_says_that_it_needs_cuda(expression):
    with pytest.raises(tarsia.CompileError, match=r"an expression on a GPU is compiled as CUDA alone: name the source \.cu, or include <cuda_runtime\.h>"):
        tarsia.load_inline(f"""
        #include <mxnet/operator.h>
        void f(mshadow::Tensor<mshadow::gpu, 2> a, mshadow::Tensor<mshadow::gpu, 2> b, mshadow::Tensor<mshadow::gpu, 1> c) {{ {expression}; }}
        int one() {{ return 1; }}
        """)
