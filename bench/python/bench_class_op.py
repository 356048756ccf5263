"""Class operators: what an edit costs while the compiler runs, and what g++ takes for the same file.

Each is edited in the source itself, and in a header beside it that includes MXNet's.

An expression is one line of mshadow in a function, compiled for the CPU or as a kernel. The operator is a whole one, with
parameters, shapes and gradients, compiled for the CPU. Versions differ in a number. Medians of all but the first, which
makes what later ones find in the cache. g++ compiles without optimising more than -O2, and does not link.

    python bench/python/bench_class_op.py [--rounds 7]
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import report

import tarsia

EXPRESSION = """
#include <dmlc/logging.h>
#include <dmlc/parameter.h>
#include <mxnet/operator.h>
#include "./mshadow_op.h"
#include "./operator_common.h"
void run(float* x, float* y, int n) {
  using namespace mshadow::expr;
  mshadow::Stream<mshadow::DEVICE>* s = nullptr;
  mshadow::Tensor<mshadow::DEVICE, 1> a(x, mshadow::Shape1(n), s), b(y, mshadow::Shape1(n), s);
  b = F<mxnet::op::mshadow_op::sigmoid>(a) * VERSION.5f + a;
}
"""
OPERATOR = """
#include <dmlc/logging.h>
#include <dmlc/parameter.h>
#include <mxnet/operator.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "./mshadow_op.h"
#include "./operator_common.h"

namespace mxnet {
namespace op {
struct ScaleParam : public dmlc::Parameter<ScaleParam> {
  float factor;
  int power;
  DMLC_DECLARE_PARAMETER(ScaleParam) {
    DMLC_DECLARE_FIELD(factor).set_default(VERSION.5f).set_range(0, 1000).describe("What data is multiplied with.");
    DMLC_DECLARE_FIELD(power).set_default(1).add_enum("linear", 1).add_enum("square", 2);
  }
};
class ScaleOp : public Operator {
 public:
  explicit ScaleOp(ScaleParam param) : param_(param) {}
  void Forward(const OpContext& ctx, const std::vector<TBlob>& in_data, const std::vector<OpReqType>& req,
               const std::vector<TBlob>& out_data, const std::vector<TBlob>&) override {
    using namespace mshadow::expr;
    mshadow::Stream<cpu>* s = ctx.get_stream<cpu>();
    mshadow::Tensor<cpu, 2> x = in_data[0].FlatTo2D<cpu, real_t>(s), y = out_data[0].FlatTo2D<cpu, real_t>(s);
    if (param_.power == 2) {
      Assign(y, req[0], F<mshadow_op::square>(x) * param_.factor);
    } else {
      Assign(y, req[0], x * param_.factor);
    }
  }
  void Backward(const OpContext& ctx, const std::vector<TBlob>& out_grad, const std::vector<TBlob>& in_data,
                const std::vector<TBlob>&, const std::vector<OpReqType>& req, const std::vector<TBlob>& in_grad,
                const std::vector<TBlob>&) override {
    using namespace mshadow::expr;
    mshadow::Stream<cpu>* s = ctx.get_stream<cpu>();
    mshadow::Tensor<cpu, 2> x = in_data[0].FlatTo2D<cpu, real_t>(s), dy = out_grad[0].FlatTo2D<cpu, real_t>(s),
                            dx = in_grad[0].FlatTo2D<cpu, real_t>(s);
    if (param_.power == 2) {
      Assign(dx, req[0], dy * x * (2.0f * param_.factor));
    } else {
      Assign(dx, req[0], dy * param_.factor);
    }
  }

 private:
  ScaleParam param_;
};
class ScaleProp : public OperatorProperty {
 public:
  void Init(const std::vector<std::pair<std::string, std::string> >& kwargs) override { param_.Init(kwargs); }
  std::map<std::string, std::string> GetParams() const override { return param_.__DICT__(); }
  bool InferShape(std::vector<TShape>* in_shape, std::vector<TShape>* out_shape, std::vector<TShape>*) const override {
    CHECK_EQ(in_shape->size(), 1) << "Input:[data]";
    if (in_shape->at(0).ndim() == 0) return false;
    out_shape->assign(1, in_shape->at(0));
    return true;
  }
  OperatorProperty* Copy() const override { return new ScaleProp(*this); }
  std::string TypeString() const override { return "BenchScale"; }
  Operator* CreateOperator(Context) const override { return new ScaleOp(param_); }

 private:
  ScaleParam param_;
};
DMLC_REGISTER_PARAMETER(ScaleParam);
MXNET_REGISTER_OP_PROPERTY(BenchScale, ScaleProp)
    .describe("Multiplies data with a factor.")
    .add_argument("data", "NDArray-or-Symbol", "What is multiplied.")
    .add_arguments(ScaleParam::__FIELDS__());
}  // namespace op
}  // namespace mxnet
"""


def compile_times(folder, name, text, rounds, in_header=False):
    """Milliseconds of each version, but for the first. In a header, the source does no more than include it."""
    times = []
    for version in range(rounds + 1):
        path = folder / name
        version_text = text.replace("VERSION", str(version + 1))
        if in_header:
            header = path.with_name(f"{path.stem}-inl.h")
            header.write_text(f"#ifndef BENCH_INL_H_\n#define BENCH_INL_H_\n{version_text}#endif\n")
            version_text = f'#include "./{header.name}"\nint header_is_there() {{ return 1; }}\n'
        path.write_text(version_text)
        begin = time.perf_counter()
        library = tarsia.load(path)
        times.append((time.perf_counter() - begin) * 1e3)
        library.unload()
    return times[1:]


def gcc_times(folder, text, rounds):
    include = pathlib.Path(tarsia.__path__[0]) / "include"
    folders = [include, include / "tarsia/class_op", include / "tarsia/class_op/src/operator"]
    times = []
    for version in range(rounds):
        path = folder / "gcc.cc"
        path.write_text(text.replace("VERSION", str(version + 1)))
        begin = time.perf_counter()
        subprocess.run(["g++", "-std=c++17", "-O2", "-c", "-fPIC", *(f"-I{one}" for one in folders), path, "-o", folder / "gcc.o"], check=True)
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    folder = pathlib.Path(tempfile.mkdtemp())
    os.environ["TARSIA_CACHE_DIR"] = str(folder / "cache")  # what was compiled before would be hits
    try:
        print(report.processor())
        print(f"An edit of a class operator's source, medians of {rounds}, in ms")
        cases = [
            ("expression, CPU", "expression.cc", EXPRESSION.replace("DEVICE", "cpu")),
            ("expression, GPU", "expression.cu", EXPRESSION.replace("DEVICE", "gpu")),
            ("operator, CPU", "operator.cc", OPERATOR),
        ]
        for what, name, text in cases:
            ours = statistics.median(compile_times(folder, name, text, rounds))
            line = f"  {what:18} tarsia {ours:8.1f}"
            if name.endswith(".cc") and shutil.which("g++"):
                gcc = statistics.median(gcc_times(folder, text, max(3, rounds // 2)))
                line += f"   g++ -c {gcc:8.1f}   ratio {ours / gcc:.3f}"
            print(line, flush=True)
            ours = statistics.median(compile_times(folder, f"beside-{name}", text, rounds, in_header=True))
            print(f"    {'in a header':16} tarsia {ours:8.1f}", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
