"""tarsia.reduction: functions that reduce tensors along axes, out of expressions in C++."""


from .._errors import told
from .expression import BYTES, SEEN, TYPES, WIDE_AND_PLAIN, WRITTEN, Recipe, marked, type_error, uses, value_error


# On the GPU: the sums of a row's threads, at most 256, added onto that of its first.
THREADS = """#pragma unroll
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


class Reduction(Recipe):
    kind = "reduction"
    more_params = ("axes_", "keepdims_")

    def __init__(self, inputs, outputs, map, reduce, post, identity, name, reduce_type, preamble, options, doc):
        reserved = {"a", "b", "i", "j", "n", "_ind"}
        texts = {"map": map, "reduce": reduce, "post": post, "identity": identity}
        super().__init__(inputs, outputs, name, preamble, options, doc, reserved,
                         {what: text for what, text in texts.items() if text is not None})
        if not any(not p.is_raw for p in self.inputs):
            raise value_error(f"{name}: there is no input to reduce; write one such as 'T x'")
        for p in self.outputs:
            if p.is_raw or p.is_inout:
                raise value_error(f"{name}: '{p}' cannot be raw or inout: a reduction writes each output once")
        if post is None:
            if len(self.outputs) > 1:
                raise value_error(f"{name}: with several outputs post has to assign each of them: "
                                   f"post='{'; '.join(f'{p.name} = ...' for p in self.outputs)}'")
            post = f"{self.outputs[0].name} = a"
        for p in self.outputs:
            if not uses(p.name, post):
                raise value_error(f"{name}: output {p.name!r} is never assigned: post has to hold '{p.name} = …', and is {post!r}")
        for what, text in (("map", map), ("reduce", reduce)):
            if not text.strip():
                raise value_error(f"{name}: {what} is empty: it is an expression such as {'x * x' if what == 'map' else 'a + b'!r}")
        if not (uses("a", reduce) and uses("b", reduce)):
            raise value_error(f"{name}: reduce puts two values together, a and b, such as 'a + b'; it is {reduce!r}")
        if reduce_type is not None and not isinstance(reduce_type, str):
            raise type_error(f"{name}: reduce_type must be a str such as 'double', got {type(reduce_type).__name__}")
        self.map, self.reduce, self.post, self.identity, self.reduce_type = map, reduce, post, identity, reduce_type
        self.uses_index = uses("i", map)
        self.keeps_order = uses("j", map)

    def headline(self):
        return (f"{self.name}({', '.join(str(p) for p in self.inputs)}) -> ({', '.join(str(p) for p in self.outputs)}): "
                f"{self.texts['map'].strip()}; {self.texts['reduce'].strip()}")

    def how_to_call(self):
        return ("axis: an int, a tuple of ints, or None for all; keepdims keeps reduced axes with extent 1. Inputs broadcast first. "
                "Outputs are made by the framework of the inputs, or given as out=.")

    def keywords(self):
        return [("axis", None), ("keepdims", False), ("out", None), ("stream", None)]

    def text(self, gpu, dtypes, numbers):
        walked, raws, scalars = self.sort(dtypes, numbers)
        inputs = [(p, d) for p, d in walked if not p.is_output]
        outputs = [(p, d) for p, d in walked if p.is_output]
        if not inputs:
            raise type_error(f"{self.name}: an input has to be a tensor, got numbers alone")
        own = self.reduce_type
        held = (SEEN[outputs[0][1]] if own is None else own if own in self.letters else SEEN[WRITTEN[own]] if own in WRITTEN
                else own)
        parts = [self.head(gpu, dtypes), f"typedef {held} R_;\n"]
        parts.append("struct Out_ {\n" + "".join(f"  {SEEN[d]} {p.name};\n" for p, d in outputs) + "};\n")
        function, usings = self.function_of(gpu), self.usings(gpu)
        values = [f"const {SEEN[d]} {p.name}" for p, d in scalars] + [f"const {self.raw_type(p, d)}& {p.name}" for p, d in raws]
        mapped = [f"const {SEEN[d]} {p.name}" for p, d in inputs] + values + ["const long long i", "const long long j"]
        parts.append(f"{function} R_ map_({', '.join(mapped)}) {{\n{usings}  return"
                     + marked(self.map, f"{self.name}: map", True, True) + "}\n")
        parts.append(f"{function} R_ reduce_(const R_ a, const R_ b) {{\n{usings}  return"
                     + marked(self.reduce, f"{self.name}: reduce", True, True) + "}\n")
        post = ["const R_ a", "const long long n", *values]
        parts.append(f"{function} Out_ post_({', '.join(post)}) {{\n{usings}"
                     + "".join(f"  {SEEN[d]} {p.name};\n" for p, d in outputs)
                     + marked(self.post, f"{self.name}: post", semicolon=True)
                     + f'#line 1 "{self.name}: outputs"\n  return Out_{{{", ".join(p.name for p, _ in outputs)}}};\n}}\n'
                       '#line 1 "generated by tarsia"\n')
        if self.identity is not None:
            parts.append(f"{function} R_ identity_() {{\n{usings}  return"
                         + marked(self.identity, f"{self.name}: identity", True, True) + "}\n")
        parts.append((self.gpu_text if gpu else self.cpu_text)(inputs, outputs, raws, scalars, dtypes, numbers))
        parts.append(self.exported(numbers, dtypes))
        return "".join(parts)

    def host_head(self, inputs, outputs, raws, dtypes, numbers):
        walked = inputs + outputs
        params = ", ".join(self.host_params(numbers, dtypes))
        n_in = len(inputs)
        empty = "" if self.identity is not None else (
            f'  for (int d_ = 0; d_ < shape_.ndim; ++d_)\n    if ((axes_ >> d_ & 1) && !shape_.shape[d_] && ::tarsia::Dims('
            f'to_.shape, to_.ndim).numel())\n      throw ::tarsia::ValueError("{self.name}: there are no elements to reduce, and no '
            f'identity is declared");\n')
        return (f"static {self.result()[0]} call_({params}) {{\n{self.tensors(walked, raws)}  LoopShape shape_;\n"
                f"  broadcast(op_, tensors_, {n_in}, -1, shape_);\n"
                "  const LoopShape to_ = reduced_shape(shape_, axes_, keepdims_ != 0);\n"
                f"  check_reduced(op_, tensors_ + {n_in}, {len(outputs)}, to_);\n{empty}"
                + self.made(walked, "to_.shape", "to_.ndim")
                + f"  check_overlaps(op_, tensors_, {len(walked)}, false);\n")

    def plan(self, inputs, outputs, kept, reduced, by_kept, by_reduced, out):
        flags = f"{str(self.uses_index).lower()}, shape_, axes_, {str(self.keeps_order).lower()}"
        return (f"  plan_reduction(op_, tensors_, {len(inputs)}, {len(outputs)}, {flags}, {kept}, {reduced}, {by_reduced}.data, "
                f"{by_kept}.strides, {by_reduced}.strides, {out}.data, {out}.strides);\n")

    def cpu_text(self, inputs, outputs, raws, scalars, dtypes, numbers):
        n, m = len(inputs) + self.uses_index, len(outputs)
        extra = scalars + raws
        held = "".join(f"  {SEEN[d]} {p.name}_value_;\n" for p, d in scalars)
        held += "".join(f"  {self.raw_type(p, d)} {p.name}_value_;\n" for p, d in raws)
        values = "".join(f"  const {SEEN[d]} {p.name}_value_ = w_.{p.name}_value_;\n" for p, d in scalars)
        values += "".join(f"  const {self.raw_type(p, d)} {p.name}_value_ = w_.{p.name}_value_;\n" for p, d in raws)
        rooms = "".join(f"  alignas(64) {SEEN[d]} {p.name}_room_[k_row];\n" for p, d in inputs)
        if self.uses_index:
            rooms += "  long long i_room_[k_row];\n"

        def gather(dims, by, base):
            lines = [f"const {SEEN[d]}* const {p.name}_row_ = gather<wide_, {TYPES[d]}, {SEEN[d]}>({dims}, {by}.strides[{k}], "
                     f"reinterpret_cast<{TYPES[d]}*>(w_.by_reduced_.data[{k}]) + {base}[{k}], c_, n_, {p.name}_room_);\n"
                     for k, (p, d) in enumerate(inputs)]
            if self.uses_index:
                k = len(inputs)
                lines.append(f"const long long* const i_ = gather_indices({dims}, {by}.strides[{k}], {base}[{k}], c_, n_, i_room_);\n")
            return "".join("    " + line for line in lines)

        def mapped(at, j):
            args = [f"{p.name}_row_[{at}]" for p, _ in inputs] + [f"{p.name}_value_" for p, _ in extra]
            return f"map_({', '.join([*args, f'i_[{at}]' if self.uses_index else '0', j])})"

        safe = "#pragma clang loop vectorize(assume_safety)\n"
        nothing = "identity_()" if self.identity is not None else "R_()"
        text = f"""struct Work_ {{
  LoopDims kept_, reduced_;
  LoopSides<{n}> by_kept_, by_reduced_;
  LoopSides<{m}> out_;
  ReductionPieces pieces_;
  R_* partial_;
  bool neighbours_;
{held}}};
// One result from the elements begin … end - 1 of what is reduced.
template <bool wide_>
__attribute__((always_inline)) static inline R_ row_result_(const Work_& w_, const long long* base_, long long begin_,
                                                            long long end_) {{
{values}{rooms}  alignas(64) R_ row_[64];
  R_ levels_[64];
  unsigned long long count_ = 0;
  LoopCursor c_(w_.reduced_, begin_);
  for (long long k_ = begin_; k_ < end_;) {{
    const long long n_ = row_length(w_.reduced_, c_, end_ - k_);
{gather("w_.reduced_", "w_.by_reduced_", "base_")}    // 64 lanes side by side, then halves onto halves.
    const long long lanes_ = n_ < 64 ? n_ : 64;
{safe}    for (long long v_ = 0; v_ < lanes_; ++v_) row_[v_] = {mapped("v_", "k_ + v_")};
    long long done_ = lanes_;
    for (; done_ + 64 <= n_; done_ += 64) {{
{safe}      for (long long v_ = 0; v_ < 64; ++v_) row_[v_] = reduce_(row_[v_], {mapped("done_ + v_", "k_ + done_ + v_")});
    }}
{safe}    for (long long v_ = 0; v_ < n_ - done_; ++v_) row_[v_] = reduce_(row_[v_], {mapped("done_ + v_", "k_ + done_ + v_")});
    for (long long left_ = lanes_, half_; left_ > 1; left_ = half_) {{
      half_ = (left_ + 1) / 2;
{safe}      for (long long v_ = 0; v_ < left_ - half_; ++v_) row_[v_] = reduce_(row_[v_], row_[v_ + half_]);
    }}
    R_ sum_ = row_[0];
    int level_ = 0;
    for (unsigned long long m_ = count_++; m_ & 1; m_ >>= 1) sum_ = reduce_(levels_[level_++], sum_);
    levels_[level_] = sum_;
    c_.advance(w_.reduced_, n_);
    k_ += n_;
  }}
  if (!count_) return {nothing};
  int level_ = __builtin_ctzll(count_);
  R_ sum_ = levels_[level_];
  while (++level_ < 64)
    if (count_ >> level_ & 1) sum_ = reduce_(levels_[level_], sum_);
  return sum_;
}}
// n_results_ results that are neighbours, from the elements begin … end - 1 of what is reduced: 16 are added one after
// the other, and such sums two by two.
template <bool wide_>
__attribute__((always_inline)) static inline void column_results_(const Work_& w_, LoopCursor place_, long long n_results_,
                                                                  long long begin_, long long end_, R_* levels_, R_* to_) {{
{values}{rooms}  LoopRow rows_[k_columns / (k_row / 2) + 1];
  const int n_rows_ = rows_of(w_.kept_, place_, n_results_, rows_);
  unsigned long long count_ = 0;
  LoopCursor at_(w_.reduced_, begin_);
  for (long long k_ = begin_; k_ < end_;) {{
    int level_ = 0;
    while (count_ >> level_ & 1) ++level_;
    R_* const level_sum_ = levels_ + level_ * k_columns;
    for (long long last_ = k_ + 16 < end_ ? k_ + 16 : end_, first_ = k_; k_ < last_; ++k_) {{
      long long base_[{n}];
      for (int j_ = 0; j_ < {n}; ++j_) base_[j_] = at_.offset(w_.reduced_, w_.by_reduced_.strides[j_]);
      for (int q_ = 0; q_ < n_rows_; ++q_) {{
        const LoopCursor& c_ = rows_[q_].cursor;
        const long long n_ = rows_[q_].count;
        R_* const sum_ = level_sum_ + rows_[q_].first;
{gather("w_.kept_", "w_.by_kept_", "base_")}        if (k_ == first_) {{
{safe}          for (long long v_ = 0; v_ < n_; ++v_) sum_[v_] = {mapped("v_", "k_")};
        }} else {{
{safe}          for (long long v_ = 0; v_ < n_; ++v_) sum_[v_] = reduce_(sum_[v_], {mapped("v_", "k_")});
        }}
      }}
      at_.advance(w_.reduced_, 1);
    }}
    for (int low_ = level_ - 1; low_ >= 0; --low_) {{
      R_* const more_ = levels_ + low_ * k_columns;
{safe}      for (long long v_ = 0; v_ < n_results_; ++v_) level_sum_[v_] = reduce_(more_[v_], level_sum_[v_]);
    }}
    ++count_;
  }}
  if (!count_) {{
    for (long long v_ = 0; v_ < n_results_; ++v_) to_[v_] = {nothing};
    return;
  }}
  int level_ = __builtin_ctzll(count_);
  for (long long v_ = 0; v_ < n_results_; ++v_) to_[v_] = levels_[level_ * k_columns + v_];
  while (++level_ < 64 && count_ >> level_)
    if (count_ >> level_ & 1) {{
      const R_* const more_ = levels_ + level_ * k_columns;
{safe}      for (long long v_ = 0; v_ < n_results_; ++v_) to_[v_] = reduce_(more_[v_], to_[v_]);
    }}
}}
template <bool wide_>
__attribute__((always_inline)) static inline void run_(void* with_, int64_t first_, int64_t last_) {{
  const Work_& w_ = *static_cast<const Work_*>(with_);
  const ReductionPieces& p_ = w_.pieces_;
  int n_levels_ = 2;
  while (n_levels_ < 60 && p_.rows >> (n_levels_ + 2)) ++n_levels_;
  const RowMemory levels_(w_.neighbours_ ? static_cast<size_t>(n_levels_) * k_columns * sizeof(R_) : 1);
  for (int64_t piece_ = first_; piece_ < last_; ++piece_) {{
    const long long part_ = piece_ / p_.chunks, chunk_ = piece_ % p_.chunks;
    const long long begin_ = part_ * p_.rows;
    const long long end_ = begin_ + p_.rows < w_.reduced_.count ? begin_ + p_.rows : w_.reduced_.count;
    long long o_ = chunk_ * p_.length;
    const long long stop_ = o_ + p_.length < w_.kept_.count ? o_ + p_.length : w_.kept_.count;
    R_* const to_ = w_.partial_ + part_ * w_.kept_.count;
    LoopCursor c_(w_.kept_, o_);
    while (o_ < stop_) {{
      if (w_.neighbours_) {{
        const long long n_ = stop_ - o_ < k_columns ? stop_ - o_ : static_cast<long long>(k_columns);
        column_results_<wide_>(w_, c_, n_, begin_, end_, levels_.as<R_>(), to_ + o_);
        c_.advance(w_.kept_, n_);
        o_ += n_;
      }} else {{
        long long base_[{n}];
        for (int j_ = 0; j_ < {n}; ++j_) base_[j_] = c_.offset(w_.kept_, w_.by_kept_.strides[j_]);
        to_[o_] = row_result_<wide_>(w_, base_, begin_, end_);
        c_.advance(w_.kept_, 1);
        ++o_;
      }}
    }}
  }}
}}
{WIDE_AND_PLAIN}static void finish_(void* with_, int64_t first_, int64_t last_) {{
  const Work_& w_ = *static_cast<const Work_*>(with_);
{values}  LoopCursor c_(w_.kept_, first_);
  for (int64_t o_ = first_; o_ < last_; ++o_) {{
    R_ sum_ = w_.partial_[o_];
    for (long long part_ = 1; part_ < w_.pieces_.parts; ++part_) sum_ = reduce_(sum_, w_.partial_[part_ * w_.kept_.count + o_]);
    const Out_ r_ = post_({", ".join(["sum_", "w_.reduced_.count", *(f"{p.name}_value_" for p, _ in extra)])});
"""
        for k, (p, d) in enumerate(outputs):
            text += (f"    reinterpret_cast<{TYPES[d]}*>(w_.out_.data[{k}])[c_.offset(w_.kept_, w_.out_.strides[{k}])] = "
                     f"Element<{TYPES[d]}, false>::put(r_.{p.name});\n")
        text += "    c_.advance(w_.kept_, 1);\n  }\n}\n"
        text += self.host_head(inputs, outputs, raws, dtypes, numbers) + "  Work_ w_;\n"
        text += self.plan(inputs, outputs, "w_.kept_", "w_.reduced_", "w_.by_kept_", "w_.by_reduced_", "w_.out_")
        text += "".join(f"  w_.{p.name}_value_ = {p.name}_value_;\n" for p, _ in extra)
        text += f"""  if (w_.kept_.count) {{
    // Many short rows are better walked across.
    w_.neighbours_ = keeps_neighbours(w_.kept_, w_.reduced_, w_.by_kept_.strides, w_.by_reduced_.strides, {len(inputs)}) ||
                     (w_.reduced_.count < 32 && w_.kept_.count >= 64);
    w_.pieces_ = pieces_of(w_.kept_.count, w_.reduced_.count, w_.neighbours_);
    w_.partial_ = static_cast<R_*>(::tarsia::scratch(static_cast<uint64_t>(w_.pieces_.parts * w_.kept_.count) * sizeof(R_),
                                                     ::tarsia::cpu_device()));
    const int64_t n_pieces_ = w_.pieces_.parts * w_.pieces_.chunks;
    if (n_pieces_ < 4)
      (is_wide() ? run_wide_ : run_plain_)(&w_, 0, n_pieces_);
    else
      host()->parallel(n_pieces_, 1, is_wide() ? run_wide_ : run_plain_, &w_);
    spread(w_.kept_.count, static_cast<int64_t>(sizeof(R_)) * (1 + w_.pieces_.parts), finish_, &w_);
  }}
  return {self.result()[1]};
}}
"""
        return text

    def gpu_text(self, inputs, outputs, raws, scalars, dtypes, numbers):
        n, m = len(inputs) + self.uses_index, len(outputs)
        extra = scalars + raws
        pack = 1 if self.uses_index else 16 // max(BYTES[d] for _, d in inputs)
        values = [f"const {SEEN[d]} {p.name}_value_" for p, d in scalars]
        values += [f"const {self.raw_type(p, d)} {p.name}_value_" for p, d in raws]
        has_identity = self.identity is not None
        start = "identity_()" if has_identity else "R_()"
        given = [f"{p.name}_value_" for p, _ in extra]

        def mapped(item, i, j):
            return f"map_({', '.join([item(k, p) for k, (p, _) in enumerate(inputs)] + given + [i, j])})"

        def finish(value, o, pad):
            lines = [f"const Out_ r_ = post_({', '.join([value, 'n_', *given])});", f"long long to_[{m}] = {{}};",
                     f"add_offsets<{m}>(elements_, out_.strides, {o}, to_);"]
            lines += [f"reinterpret_cast<{TYPES[d]}*>(out_.data[{k}])[to_[{k}]] = r_.{p.name};" for k, (p, d) in enumerate(outputs)]
            return "".join(f"{pad}{line}\n" for line in lines)

        sides = f"const __grid_constant__ LoopSides<{n}>"
        params = ", ".join(["const __grid_constant__ LoopDims kept_", "const __grid_constant__ LoopDims elements_",
                            "const __grid_constant__ LoopDims reduced_", f"{sides} by_kept_", f"{sides} by_reduced_",
                            f"const __grid_constant__ LoopSides<{m}> out_", "const long long chunk_", "const long long n_",
                            "const int tail_", "R_* const partial_", *values])
        packs = "".join(f"    Pack<{TYPES[d]}, v_> {p.name}_row_[4];\n" for p, d in inputs)

        # Of a row's parts each takes what the others leave, side by side in memory; columns are in chunks.
        def walk(thread, step, parts, side, j):
            index = f"at_[u_][{len(inputs)}]" if self.uses_index else "0"
            each = "#pragma unroll\n    for (int u_ = 0; u_ < 4; ++u_) {\n"
            return (f"  for (long long k_ = begin_ + {thread}; inside_ && k_ < end_; k_ += 4ll * {step}{parts}) {{\n{packs}"
                    f"    long long at_[4][{n}];\n{each}      const long long r_ = k_ + static_cast<long long>(u_) * {step};\n"
                    "      if (r_ >= end_) break;\n#pragma unroll\n"
                    f"      for (int j_ = 0; j_ < {n}; ++j_) at_[u_][j_] = base_[j_];\n"
                    f"      add_offsets<{n}>(reduced_, by_reduced_.strides, r_, at_[u_]);\n"
                    + "".join(f"      load({p.name}_row_[u_], by_reduced_.data[{k}], at_[u_][{k}], {side}.ones >> {k} & 1);\n"
                              for k, (p, _) in enumerate(inputs))
                    + f"    }}\n{each}      const long long r_ = k_ + static_cast<long long>(u_) * {step};\n"
                    "      if (r_ >= end_) break;\n#pragma unroll\n      for (int e_ = 0; e_ < v_; ++e_) {\n"
                    f"        const R_ value_ = {mapped(lambda k, p: f'{p.name}_row_[u_].item[e_]', index, j)};\n"
                    "        acc_[e_] = any_ ? reduce_(acc_[e_], value_) : value_;\n      }\n      any_ = true;\n    }\n  }\n")

        def tail_item(k, p):
            return (f"reinterpret_cast<const {TYPES[inputs[k][1]]}*>(by_reduced_.data[{k}])[r_ * "
                    f"(by_reduced_.ones >> {k} & 1 ? 0 : 1)]")

        def begin(kept, first, last):
            return f"""  const bool inside_ = {kept} < kept_.count;
  long long base_[{n}] = {{}};
  if (inside_) add_offsets<{n}>(kept_, by_kept_.strides, {kept}, base_);
  const long long begin_ = blockIdx.y * {first};
  const long long end_ = {last};
  R_ acc_[v_];
  bool any_ = {str(has_identity).lower()};
#pragma unroll
  for (int e_ = 0; e_ < v_; ++e_) acc_[e_] = {start};
"""

        name = self.name
        end_of_chunk = "begin_ + chunk_ < reduced_.count ? begin_ + chunk_ : reduced_.count"
        text = f"""// Neighbours are reduced: the threads of a warp or a block along them.
template <int v_>
__global__ void __launch_bounds__(256) {name}_rows({params}) {{
  const long long o_ = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
{begin("o_", "4ll * blockDim.x", "reduced_.count")}{walk("threadIdx.x", "blockDim.x", " * gridDim.y", "by_reduced_", "r_ * v_ + e_")}  R_ sum_ = acc_[0];
#pragma unroll
  for (int e_ = 1; e_ < v_; ++e_)
    if (any_) sum_ = reduce_(sum_, acc_[e_]);
  if (v_ > 1 && blockIdx.y == gridDim.y - 1 && threadIdx.x < tail_) {{
    const long long r_ = reduced_.count * v_ + threadIdx.x;
    const R_ value_ = {mapped(tail_item, "0", "r_")};
    sum_ = any_ ? reduce_(sum_, value_) : value_;
    any_ = true;
  }}
{THREADS}  if (threadIdx.x != 0 || !inside_) return;
  if (gridDim.y > 1) {{
    partial_[blockIdx.y * kept_.count + o_] = sum_;
  }} else {{
{finish("sum_", "o_", "    ")}  }}
}}
// Neighbours are kept: each thread has v_ of them.
template <int v_>
__global__ void __launch_bounds__(256) {name}_columns({params}) {{
  __shared__ __align__(16) unsigned char room_[256 * v_ * sizeof(R_)];
  R_* const all_ = reinterpret_cast<R_*>(room_);
  const long long column_ = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
{begin("column_", "chunk_", end_of_chunk)}{walk("threadIdx.y", "blockDim.y", "", "by_kept_", "r_")}  if (blockDim.y > 1) {{
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
{finish("acc_[e_]", "o_", "      ")}    }}
  }}
}}
// Puts the parts of each result together, a warp or a block for each.
__global__ void __launch_bounds__(256) {name}_parts({", ".join(["const __grid_constant__ LoopDims elements_",
        f"const __grid_constant__ LoopSides<{m}> out_", "const long long parts_", "const long long n_",
        "const R_* const partial_", *values])}) {{
  const long long o_ = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (o_ >= elements_.count) return;
  R_ sum_ = {start};
  bool any_ = false;
#pragma unroll 4
  for (long long k_ = threadIdx.x; k_ < parts_; k_ += blockDim.x) {{
    const R_ value_ = partial_[k_ * elements_.count + o_];
    sum_ = any_ ? reduce_(sum_, value_) : value_;
    any_ = true;
  }}
{THREADS}  if (threadIdx.x != 0) return;
{finish("sum_", "o_", "  ")}}}
"""
        more = "".join(f", {one}" for one in given)
        fits = f"{', '.join(str(BYTES[d]) for _, d in inputs)}"
        n_in = len(inputs)

        def launch(kernel, v, tail):
            return (f"{name}_{kernel}<{v}><<<dim3(static_cast<unsigned>(blocks_), static_cast<unsigned>(parts_)), dim3(x_, y_), 0, "
                    f"stream_>>>(kept_, elements_, reduced_, by_kept_, by_reduced_, out_, chunk_, n_, {tail}, partial_{more});\n")

        def packed(kernel, check, count, tail):
            if pack == 1:
                return "", f"      {launch(kernel, 1, '0')}"
            size = pack if kernel == "rows" else f"shared_pack({pack}, sizeof(R_))"
            return (f"    enum {{ pack_ = {size} }};\n    const bool packs_ = pack_ > 1 && {check};\n    int tail_ = 0;\n"
                    f"    if (packs_) {{\n      {tail}{count}    }}\n",
                    f"      if (packs_)\n        {launch(kernel, 'pack_', 'tail_')}      else\n        {launch(kernel, 1, '0')}")

        rows_before, rows_launch = packed(
            "rows", f"fits_packs(reduced_, by_reduced_.strides, by_reduced_.data, bytes_, {n_in}, pack_, kept_.count == 1, &kept_, "
            "kept_.count == 1 ? nothing_ : by_kept_.strides)",
            f"count_in_packs(op_, reduced_, by_reduced_.strides, {n_in}, pack_, by_kept_.strides);\n",
            "tail_ = static_cast<int>(reduced_.shape[reduced_.ndim - 1] % pack_);\n      ")
        columns_before, columns_launch = packed(
            "columns", f"!short_ && fits_packs(kept_, by_kept_.strides, by_reduced_.data, bytes_, {n_in}, pack_, false, &reduced_, "
            "by_reduced_.strides)",
            f"count_in_packs(op_, kept_, by_kept_.strides, {n_in}, pack_, by_reduced_.strides);\n", "")
        parts = """      long long parts_ = parts_of(blocks_, reduced_.count, y_ > 1 && kind_ ? y_ * 4 : x_ * 4);
      const long long chunk_ = (reduced_.count + parts_ - 1) / parts_;
      if (chunk_) parts_ = (reduced_.count + chunk_ - 1) / chunk_;
      R_* const partial_ = parts_ > 1 ? static_cast<R_*>(::tarsia::scratch(
          static_cast<uint64_t>(parts_ * elements_.count) * sizeof(R_), host()->call_device())) : nullptr;
"""
        end = f"""      if (parts_ > 1) {{
        const unsigned lanes_ = parts_ >= 128 ? 256 : 32, rows_ = 256 / lanes_;
        {name}_parts<<<static_cast<unsigned>((elements_.count + rows_ - 1) / rows_), dim3(lanes_, rows_), 0, stream_>>>(
            elements_, out_, parts_, n_, partial_{more});
      }}
"""
        text += self.host_head(inputs, outputs, raws, dtypes, numbers)
        text += f"  LoopDims kept_, reduced_;\n  LoopSides<{n}> by_kept_, by_reduced_;\n  LoopSides<{m}> out_;\n"
        text += self.plan(inputs, outputs, "kept_", "reduced_", "by_kept_", "by_reduced_", "out_")
        text += f"""  if (kept_.count) {{
    const ::tarsia::Stream stream_ = ::tarsia::Stream::current();
    const LoopDims elements_ = kept_;
    const long long n_ = reduced_.count;
    const int bytes_[] = {{{fits}}};
    const long long nothing_[{n}][k_loop_dims] = {{}};
    (void)bytes_, (void)nothing_;
    by_kept_.ones = by_reduced_.ones = 0;
    const bool neighbours_ = keeps_neighbours(kept_, reduced_, by_kept_.strides, by_reduced_.strides, {n_in});
    const bool short_ = !neighbours_ && n_ <= 16 && kept_.count >= 1024;
    if (neighbours_ || short_) {{
  {columns_before.replace(chr(10), chr(10) + "  ").rstrip(" ")}      by_kept_.ones = ones_of(kept_, by_kept_.strides, {n_in});
      const unsigned x_ = n_ <= 16 ? 256 : 32, y_ = n_ <= 16 ? 1 : 8;
      const bool kind_ = true;
      const long long blocks_ = (kept_.count + x_ - 1) / x_;
{parts}{columns_launch}{end}    }} else {{
  {rows_before.replace(chr(10), chr(10) + "  ").rstrip(" ")}      by_reduced_.ones = ones_of(reduced_, by_reduced_.strides, {n_in});
      // Each thread reads four packs at a time: short rows get few threads, long ones blocks, once blocks read
      // twice.
      const bool wide_ = reduced_.count >= 2048 || (kept_.count < 1024 && reduced_.count >= 1024) || kept_.count < 64;
      const bool packed_ = reduced_.count < n_;
      const unsigned x_ = wide_ ? 256 : reduced_.count >= 128 || !packed_ ? 32 : reduced_.count >= 64 ? 16 : 8;
      const unsigned y_ = 256 / x_;
      const bool kind_ = false;
      const long long blocks_ = (kept_.count + y_ - 1) / y_;
{parts}{rows_launch}{end}    }}
  }}
  return {self.result()[1]};
}}
"""
        return text


@told("pass inputs, outputs, map and reduce: tarsia.reduction('T x', 'T y', 'x', 'a + b')")
def reduction(inputs, outputs, map, reduce, post=None, identity=None, name="reduction", *, reduce_type=None, preamble="", doc="",
              **options):
    """Makes a function that reduces tensors along axes, from expressions in C++.

        norm = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0")
        y = norm(x, axis=-1)

    inputs, outputs: as for tarsia.elementwise.
    map: the expression for each element. i is the element's number, j its number among those that are reduced together.
    reduce: the expression that makes one value of two, a and b. It must be associative and commutative. Shapes and strides
        alone decide the order in which values are combined, so results are the same from run to run.
    post: statements that assign the outputs from the value a; n is how many elements were reduced. Without it the only output
        is a.
    identity: the value that changes nothing, and the result of reducing no elements. Without it, reducing no elements is an error.
    reduce_type: the type of the values; by default that of the first output, and float for 16-bit floats. It may be a struct
        of the preamble.
    name, preamble, doc, options: as for tarsia.elementwise.

    The function takes the inputs, and axis (an int, a tuple of ints, or None for all), keepdims and out.
    """
    made = Reduction(inputs, outputs, map, reduce, post, identity, name, reduce_type, preamble, options, doc)
    made._made_from = ("reduction", (inputs, outputs, map, reduce, post, identity, name),
                       {"reduce_type": reduce_type, "preamble": preamble, "doc": doc, **options})
    return made.make()
