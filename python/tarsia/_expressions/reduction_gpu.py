"""The text of a reduction on the GPU: a kernel for neighbours that are reduced, one for neighbours that are kept, one that puts
parts together, and their launches."""

from .expression import BYTES, SEEN, TYPES

# The sums of a row's threads, at most 256, added onto that of its first.
_THREADS = """#pragma unroll
  for (int down_ = 16; down_; down_ >>= 1) {
    if (down_ >= blockDim.x) continue;
    const R_ value_ = from_lane_above(sum_, down_);
    const bool more_ = __shfl_down_sync(0xffffffffu, static_cast<int>(any_), down_);
    if (more_) sum_ = any_ ? reduce_(sum_, value_) : value_;
    any_ |= more_;
  }
  if (blockDim.x > 32) {
    __shared__ __align__(16) unsigned char room_[8 * sizeof(R_)];
    __shared__ bool flags_[8];
    R_* const warps_ = reinterpret_cast<R_*>(room_);
    if (threadIdx.x % 32 == 0) warps_[threadIdx.x / 32] = sum_, flags_[threadIdx.x / 32] = any_;
    __syncthreads();
    if (threadIdx.x == 0)
      for (unsigned k_ = 1; k_ < blockDim.x / 32; ++k_)
        if (flags_[k_]) sum_ = any_ ? reduce_(sum_, warps_[k_]) : warps_[k_], any_ = true;
  }
"""

# The parts that the elements of a result are cut into, and the room for their results.
_PARTS = """      long long parts_ = parts_of(blocks_, reduced_.count, y_ > 1 && kind_ ? y_ * 4 : x_ * 4);
      const long long chunk_ = (reduced_.count + parts_ - 1) / parts_;
      if (chunk_) parts_ = (reduced_.count + chunk_ - 1) / chunk_;
      R_* const partial_ = parts_ > 1 ? static_cast<R_*>(::tarsia::scratch(
          static_cast<uint64_t>(parts_ * elements_.count) * sizeof(R_), host()->call_device())) : nullptr;
"""


class GpuText:
    """The text of one Reduction for a row of dtypes. What it takes are rows (parameter, dtype)."""

    def __init__(self, reduction, inputs, outputs, raws, scalars):
        self.reduction, self.inputs, self.outputs, self.raws = reduction, inputs, outputs, raws
        self.name, self.uses_index = reduction.name, reduction.uses_index
        self.n_sides, self.n_outputs = len(inputs) + self.uses_index, len(outputs)
        self.pack = 1 if self.uses_index else 16 // max(BYTES[d] for _, d in inputs)
        self.names = [f"{p.name}_value_" for p, _ in scalars + raws]
        types = [SEEN[d] for _, d in scalars] + [reduction.raw_type(p, d) for p, d in raws]
        self.values = [f"const {type} {name}" for type, name in zip(types, self.names)]
        self.has_identity = reduction.identity is not None
        self.start = "identity_()" if self.has_identity else "R_()"
        sides = f"const __grid_constant__ LoopSides<{self.n_sides}>"
        self.params = ", ".join(["const __grid_constant__ LoopDims kept_", "const __grid_constant__ LoopDims elements_",
                                 "const __grid_constant__ LoopDims reduced_", f"{sides} by_kept_", f"{sides} by_reduced_",
                                 f"const __grid_constant__ LoopSides<{self.n_outputs}> out_", "const long long chunk_",
                                 "const long long n_", "const int tail_", "R_* const partial_", *self.values])

    def text(self, dtypes, numbers):
        return self.rows() + self.columns() + self.parts() + self.host(dtypes, numbers)

    def mapped(self, item, i, j):
        return f"map_({', '.join([item(k, p, d) for k, (p, d) in enumerate(self.inputs)] + self.names + [i, j])})"

    def begin(self, kept, first, last):
        return f"""  const bool inside_ = {kept} < kept_.count;
  long long base_[{self.n_sides}] = {{}};
  if (inside_) add_offsets<{self.n_sides}>(kept_, by_kept_.strides, {kept}, base_);
  const long long begin_ = blockIdx.y * {first};
  const long long end_ = {last};
  R_ acc_[v_];
  bool any_ = {str(self.has_identity).lower()};
#pragma unroll
  for (int e_ = 0; e_ < v_; ++e_) acc_[e_] = {self.start};
"""

    # Of a row's parts each takes what the others leave, side by side in memory; columns are in chunks.
    def walk(self, thread, step, parts, side, j):
        packs = "".join(f"    Pack<{TYPES[d]}, v_> {p.name}_row_[4];\n" for p, d in self.inputs)
        index = f"at_[u_][{len(self.inputs)}]" if self.uses_index else "0"
        each = "#pragma unroll\n    for (int u_ = 0; u_ < 4; ++u_) {\n"
        return (f"  for (long long k_ = begin_ + {thread}; inside_ && k_ < end_; k_ += 4ll * {step}{parts}) {{\n{packs}"
                f"    long long at_[4][{self.n_sides}];\n{each}      const long long r_ = k_ + static_cast<long long>(u_) * {step};\n"
                "      if (r_ >= end_) break;\n#pragma unroll\n"
                f"      for (int j_ = 0; j_ < {self.n_sides}; ++j_) at_[u_][j_] = base_[j_];\n"
                f"      add_offsets<{self.n_sides}>(reduced_, by_reduced_.strides, r_, at_[u_]);\n"
                + "".join(f"      load({p.name}_row_[u_], by_reduced_.data[{k}], at_[u_][{k}], {side}.ones >> {k} & 1);\n"
                          for k, (p, _) in enumerate(self.inputs))
                + f"    }}\n{each}      const long long r_ = k_ + static_cast<long long>(u_) * {step};\n"
                "      if (r_ >= end_) break;\n#pragma unroll\n      for (int e_ = 0; e_ < v_; ++e_) {\n"
                f"        const R_ value_ = {self.mapped(lambda k, p, d: f'{p.name}_row_[u_].item[e_]', index, j)};\n"
                "        acc_[e_] = any_ ? reduce_(acc_[e_], value_) : value_;\n      }\n      any_ = true;\n    }\n  }\n")

    def finish(self, value, o, pad):
        lines = [f"const Out_ r_ = post_({', '.join([value, 'n_', *self.names])});", f"long long to_[{self.n_outputs}] = {{}};",
                 f"add_offsets<{self.n_outputs}>(elements_, out_.strides, {o}, to_);"]
        lines += [f"reinterpret_cast<{TYPES[d]}*>(out_.data[{k}])[to_[{k}]] = r_.{p.name};" for k, (p, d) in enumerate(self.outputs)]
        return "".join(f"{pad}{line}\n" for line in lines)

    def rows(self):
        def tail_item(k, p, d):
            return f"reinterpret_cast<const {TYPES[d]}*>(by_reduced_.data[{k}])[r_ * (by_reduced_.ones >> {k} & 1 ? 0 : 1)]"

        return f"""// Neighbours are reduced: the threads of a warp or a block along them.
template <int v_>
__global__ void __launch_bounds__(256) {self.name}_rows({self.params}) {{
  const long long o_ = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
{self.begin("o_", "4ll * blockDim.x", "reduced_.count")}{self.walk("threadIdx.x", "blockDim.x", " * gridDim.y", "by_reduced_", "r_ * v_ + e_")}  R_ sum_ = acc_[0];
#pragma unroll
  for (int e_ = 1; e_ < v_; ++e_)
    if (any_) sum_ = reduce_(sum_, acc_[e_]);
  if (v_ > 1 && blockIdx.y == gridDim.y - 1 && threadIdx.x < tail_) {{
    const long long r_ = reduced_.count * v_ + threadIdx.x;
    const R_ value_ = {self.mapped(tail_item, "0", "r_")};
    sum_ = any_ ? reduce_(sum_, value_) : value_;
    any_ = true;
  }}
{_THREADS}  if (threadIdx.x != 0 || !inside_) return;
  if (gridDim.y > 1) {{
    partial_[blockIdx.y * kept_.count + o_] = sum_;
  }} else {{
{self.finish("sum_", "o_", "    ")}  }}
}}
"""

    def columns(self):
        end_of_chunk = "begin_ + chunk_ < reduced_.count ? begin_ + chunk_ : reduced_.count"
        return f"""// Neighbours are kept: each thread has v_ of them.
template <int v_>
__global__ void __launch_bounds__(256) {self.name}_columns({self.params}) {{
  __shared__ __align__(16) unsigned char room_[256 * v_ * sizeof(R_)];
  R_* const all_ = reinterpret_cast<R_*>(room_);
  const long long column_ = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
{self.begin("column_", "chunk_", end_of_chunk)}{self.walk("threadIdx.y", "blockDim.y", "", "by_kept_", "r_")}  if (blockDim.y > 1) {{
    R_* const own_ = all_ + (threadIdx.y * blockDim.x + threadIdx.x) * v_;
#pragma unroll
    for (int e_ = 0; e_ < v_; ++e_) own_[e_] = acc_[e_];
    for (unsigned half_ = blockDim.y / 2; half_; half_ >>= 1) {{
      __syncthreads();
      if (threadIdx.y < half_ && begin_ + threadIdx.y + half_ < end_) {{
        const R_* const other_ = own_ + half_ * blockDim.x * v_;
#pragma unroll
        for (int e_ = 0; e_ < v_; ++e_) own_[e_] = acc_[e_] = reduce_(acc_[e_], other_[e_]);
      }}
    }}
  }}
  if (threadIdx.y != 0 || !inside_) return;
#pragma unroll
  for (int e_ = 0; e_ < v_; ++e_) {{
    const long long o_ = column_ * v_ + e_;
    if (gridDim.y > 1) {{
      partial_[blockIdx.y * elements_.count + o_] = acc_[e_];
    }} else {{
{self.finish("acc_[e_]", "o_", "      ")}    }}
  }}
}}
"""

    def parts(self):
        params = ", ".join(["const __grid_constant__ LoopDims elements_", f"const __grid_constant__ LoopSides<{self.n_outputs}> out_",
                            "const long long parts_", "const long long n_", "const R_* const partial_", *self.values])
        return f"""// Puts the parts of each result together, a warp or a block for each.
__global__ void __launch_bounds__(256) {self.name}_parts({params}) {{
  const long long o_ = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (o_ >= elements_.count) return;
  R_ sum_ = {self.start};
  bool any_ = false;
#pragma unroll 4
  for (long long k_ = threadIdx.x; k_ < parts_; k_ += blockDim.x) {{
    const R_ value_ = partial_[k_ * elements_.count + o_];
    sum_ = any_ ? reduce_(sum_, value_) : value_;
    any_ = true;
  }}
{_THREADS}  if (threadIdx.x != 0) return;
{self.finish("sum_", "o_", "  ")}}}
"""

    def given(self):
        return "".join(f", {name}" for name in self.names)

    def launch(self, kernel, v, tail):
        return (f"{self.name}_{kernel}<{v}><<<dim3(static_cast<unsigned>(blocks_), static_cast<unsigned>(parts_)), dim3(x_, y_), 0, "
                f"stream_>>>(kept_, elements_, reduced_, by_kept_, by_reduced_, out_, chunk_, n_, {tail}, partial_{self.given()});\n")

    def launch_of_parts(self):
        return f"""      if (parts_ > 1) {{
        const unsigned lanes_ = parts_ >= 128 ? 256 : 32, rows_ = 256 / lanes_;
        {self.name}_parts<<<static_cast<unsigned>((elements_.count + rows_ - 1) / rows_), dim3(lanes_, rows_), 0, stream_>>>(
            elements_, out_, parts_, n_, partial_{self.given()});
      }}
"""

    def packed(self, kernel, size, check, count, tail):
        """What decides whether a kernel reads packs, and its launch."""
        if self.pack == 1:
            return "  ", f"      {self.launch(kernel, 1, '0')}"
        before = (f"    enum {{ pack_ = {size} }};\n    const bool packs_ = pack_ > 1 && {check};\n    int tail_ = 0;\n"
                  f"    if (packs_) {{\n      {tail}{count}    }}\n")
        return ("  " + before.replace("\n", "\n  ").rstrip(" "),
                f"      if (packs_)\n        {self.launch(kernel, 'pack_', 'tail_')}      else\n        {self.launch(kernel, 1, '0')}")

    def launch_of_rows(self):
        n_in = len(self.inputs)
        before, launch = self.packed(
            "rows", self.pack, f"fits_packs(reduced_, by_reduced_.strides, by_reduced_.data, bytes_, {n_in}, pack_, kept_.count == 1, "
            "&kept_, kept_.count == 1 ? nothing_ : by_kept_.strides)",
            f"count_in_packs(op_, reduced_, by_reduced_.strides, {n_in}, pack_, by_kept_.strides);\n",
            "tail_ = static_cast<int>(reduced_.shape[reduced_.ndim - 1] % pack_);\n      ")
        return f"""{before}      by_reduced_.ones = ones_of(reduced_, by_reduced_.strides, {n_in});
      // Each thread reads four packs at a time: short rows get few threads, long ones blocks, once blocks read
      // twice.
      const bool wide_ = reduced_.count >= 2048 || (kept_.count < 1024 && reduced_.count >= 1024) || kept_.count < 64;
      const bool packed_ = reduced_.count < n_;
      const unsigned x_ = wide_ ? 256 : reduced_.count >= 128 || !packed_ ? 32 : reduced_.count >= 64 ? 16 : 8;
      const unsigned y_ = 256 / x_;
      const bool kind_ = false;
      const long long blocks_ = (kept_.count + y_ - 1) / y_;
{_PARTS}{launch}{self.launch_of_parts()}"""

    def launch_of_columns(self):
        n_in = len(self.inputs)
        before, launch = self.packed(
            "columns", f"shared_pack({self.pack}, sizeof(R_))",
            f"!short_ && fits_packs(kept_, by_kept_.strides, by_reduced_.data, bytes_, {n_in}, pack_, false, &reduced_, "
            "by_reduced_.strides)", f"count_in_packs(op_, kept_, by_kept_.strides, {n_in}, pack_, by_reduced_.strides);\n", "")
        return f"""{before}      by_kept_.ones = ones_of(kept_, by_kept_.strides, {n_in});
      const unsigned x_ = n_ <= 16 ? 256 : 32, y_ = n_ <= 16 ? 1 : 8;
      const bool kind_ = true;
      const long long blocks_ = (kept_.count + x_ - 1) / x_;
{_PARTS}{launch}{self.launch_of_parts()}"""

    def host(self, dtypes, numbers):
        head = self.reduction.host_head(self.inputs, self.outputs, self.raws, dtypes, numbers)
        plan = self.reduction.plan(self.inputs, self.outputs, "kept_", "reduced_", "by_kept_", "by_reduced_", "out_")
        return f"""{head}  LoopDims kept_, reduced_;
  LoopSides<{self.n_sides}> by_kept_, by_reduced_;
  LoopSides<{self.n_outputs}> out_;
{plan}  if (kept_.count) {{
    const ::tarsia::Stream stream_ = ::tarsia::Stream::current();
    const LoopDims elements_ = kept_;
    const long long n_ = reduced_.count;
    const int bytes_[] = {{{', '.join(str(BYTES[d]) for _, d in self.inputs)}}};
    const long long nothing_[{self.n_sides}][k_loop_dims] = {{}};
    (void)bytes_, (void)nothing_;
    by_kept_.ones = by_reduced_.ones = 0;
    const bool neighbours_ = keeps_neighbours(kept_, reduced_, by_kept_.strides, by_reduced_.strides, {len(self.inputs)});
    const bool short_ = !neighbours_ && n_ <= 16 && kept_.count >= 1024;
    if (neighbours_ || short_) {{
{self.launch_of_columns()}    }} else {{
{self.launch_of_rows()}    }}
  }}
  return {self.reduction.result()[1]};
}}
"""
