"""The text of a reduction on the CPU: results whose elements are neighbours, results that are neighbours, and the call of both."""

from .expression import SEEN, TYPES, WIDE_AND_PLAIN

_SAFE = "#pragma clang loop vectorize(assume_safety)\n"


class CpuText:
    """The text of one Reduction for a row of dtypes. What it takes are rows (parameter, dtype)."""

    def __init__(self, reduction, inputs, outputs, raws, scalars):
        self.reduction, self.inputs, self.outputs, self.raws = reduction, inputs, outputs, raws
        self.uses_index = reduction.uses_index
        self.n_sides, self.n_outputs = len(inputs) + self.uses_index, len(outputs)
        self.names = [f"{p.name}_value_" for p, _ in scalars + raws]
        types = [SEEN[d] for _, d in scalars] + [reduction.raw_type(p, d) for p, d in raws]
        self.held = "".join(f"  {type} {name};\n" for type, name in zip(types, self.names))
        self.values = "".join(f"  const {type} {name} = w_.{name};\n" for type, name in zip(types, self.names))
        self.rooms = "".join(f"  alignas(64) {SEEN[d]} {p.name}_room_[k_row];\n" for p, d in inputs)
        if self.uses_index:
            self.rooms += "  long long i_room_[k_row];\n"
        self.nothing = "identity_()" if reduction.identity is not None else "R_()"

    def text(self, dtypes, numbers):
        return (self.work() + self.row_result() + self.column_results() + self.pieces() + WIDE_AND_PLAIN + self.finish()
                + self.host(dtypes, numbers))

    def gather(self, dims, by, base):
        """Statements that read a row of each input."""
        lines = [f"const {SEEN[d]}* const {p.name}_row_ = gather<wide_, {TYPES[d]}, {SEEN[d]}>({dims}, {by}.strides[{k}], "
                 f"reinterpret_cast<{TYPES[d]}*>(w_.by_reduced_.data[{k}]) + {base}[{k}], c_, n_, {p.name}_room_);\n"
                 for k, (p, d) in enumerate(self.inputs)]
        if self.uses_index:
            k = len(self.inputs)
            lines.append(f"const long long* const i_ = gather_indices({dims}, {by}.strides[{k}], {base}[{k}], c_, n_, i_room_);\n")
        return "".join("    " + line for line in lines)

    def mapped(self, at, j):
        args = [f"{p.name}_row_[{at}]" for p, _ in self.inputs] + self.names
        return f"map_({', '.join([*args, f'i_[{at}]' if self.uses_index else '0', j])})"

    def work(self):
        return f"""struct Work_ {{
  LoopDims kept_, reduced_;
  LoopSides<{self.n_sides}> by_kept_, by_reduced_;
  LoopSides<{self.n_outputs}> out_;
  ReductionPieces pieces_;
  R_* partial_;
  bool neighbours_;
{self.held}}};
"""

    def row_result(self):
        return f"""// One result from the elements begin … end - 1 of what is reduced.
template <bool wide_>
__attribute__((always_inline)) static inline R_ row_result_(const Work_& w_, const long long* base_, long long begin_,
                                                            long long end_) {{
{self.values}{self.rooms}  alignas(64) R_ row_[64];
  R_ levels_[64];
  unsigned long long count_ = 0;
  LoopCursor c_(w_.reduced_, begin_);
  for (long long k_ = begin_; k_ < end_;) {{
    const long long n_ = row_length(w_.reduced_, c_, end_ - k_);
{self.gather("w_.reduced_", "w_.by_reduced_", "base_")}    // 64 lanes side by side, then halves onto halves.
    const long long lanes_ = n_ < 64 ? n_ : 64;
{_SAFE}    for (long long v_ = 0; v_ < lanes_; ++v_) row_[v_] = {self.mapped("v_", "k_ + v_")};
    long long done_ = lanes_;
    for (; done_ + 64 <= n_; done_ += 64) {{
{_SAFE}      for (long long v_ = 0; v_ < 64; ++v_) row_[v_] = reduce_(row_[v_], {self.mapped("done_ + v_", "k_ + done_ + v_")});
    }}
{_SAFE}    for (long long v_ = 0; v_ < n_ - done_; ++v_) row_[v_] = reduce_(row_[v_], {self.mapped("done_ + v_", "k_ + done_ + v_")});
    for (long long left_ = lanes_, half_; left_ > 1; left_ = half_) {{
      half_ = (left_ + 1) / 2;
{_SAFE}      for (long long v_ = 0; v_ < left_ - half_; ++v_) row_[v_] = reduce_(row_[v_], row_[v_ + half_]);
    }}
    R_ sum_ = row_[0];
    int level_ = 0;
    for (unsigned long long m_ = count_++; m_ & 1; m_ >>= 1) sum_ = reduce_(levels_[level_++], sum_);
    levels_[level_] = sum_;
    c_.advance(w_.reduced_, n_);
    k_ += n_;
  }}
  if (!count_) return {self.nothing};
  int level_ = __builtin_ctzll(count_);
  R_ sum_ = levels_[level_];
  while (++level_ < 64)
    if (count_ >> level_ & 1) sum_ = reduce_(levels_[level_], sum_);
  return sum_;
}}
"""

    def column_results(self):
        return f"""// n_results_ results that are neighbours, from the elements begin … end - 1 of what is reduced: 16 are added one after
// the other, and such sums two by two.
template <bool wide_>
__attribute__((always_inline)) static inline void column_results_(const Work_& w_, LoopCursor place_, long long n_results_,
                                                                  long long begin_, long long end_, R_* levels_, R_* to_) {{
{self.values}{self.rooms}  LoopRow rows_[k_columns / (k_row / 2) + 1];
  const int n_rows_ = rows_of(w_.kept_, place_, n_results_, rows_);
  unsigned long long count_ = 0;
  LoopCursor at_(w_.reduced_, begin_);
  for (long long k_ = begin_; k_ < end_;) {{
    int level_ = 0;
    while (count_ >> level_ & 1) ++level_;
    R_* const level_sum_ = levels_ + level_ * k_columns;
    for (long long last_ = k_ + 16 < end_ ? k_ + 16 : end_, first_ = k_; k_ < last_; ++k_) {{
      long long base_[{self.n_sides}];
      for (int j_ = 0; j_ < {self.n_sides}; ++j_) base_[j_] = at_.offset(w_.reduced_, w_.by_reduced_.strides[j_]);
      for (int q_ = 0; q_ < n_rows_; ++q_) {{
        const LoopCursor& c_ = rows_[q_].cursor;
        const long long n_ = rows_[q_].count;
        R_* const sum_ = level_sum_ + rows_[q_].first;
{self.gather("w_.kept_", "w_.by_kept_", "base_")}        if (k_ == first_) {{
{_SAFE}          for (long long v_ = 0; v_ < n_; ++v_) sum_[v_] = {self.mapped("v_", "k_")};
        }} else {{
{_SAFE}          for (long long v_ = 0; v_ < n_; ++v_) sum_[v_] = reduce_(sum_[v_], {self.mapped("v_", "k_")});
        }}
      }}
      at_.advance(w_.reduced_, 1);
    }}
    for (int low_ = level_ - 1; low_ >= 0; --low_) {{
      R_* const more_ = levels_ + low_ * k_columns;
{_SAFE}      for (long long v_ = 0; v_ < n_results_; ++v_) level_sum_[v_] = reduce_(more_[v_], level_sum_[v_]);
    }}
    ++count_;
  }}
  if (!count_) {{
    for (long long v_ = 0; v_ < n_results_; ++v_) to_[v_] = {self.nothing};
    return;
  }}
  int level_ = __builtin_ctzll(count_);
  for (long long v_ = 0; v_ < n_results_; ++v_) to_[v_] = levels_[level_ * k_columns + v_];
  while (++level_ < 64 && count_ >> level_)
    if (count_ >> level_ & 1) {{
      const R_* const more_ = levels_ + level_ * k_columns;
{_SAFE}      for (long long v_ = 0; v_ < n_results_; ++v_) to_[v_] = reduce_(more_[v_], to_[v_]);
    }}
}}
"""

    def pieces(self):
        return f"""template <bool wide_>
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
        long long base_[{self.n_sides}];
        for (int j_ = 0; j_ < {self.n_sides}; ++j_) base_[j_] = c_.offset(w_.kept_, w_.by_kept_.strides[j_]);
        to_[o_] = row_result_<wide_>(w_, base_, begin_, end_);
        c_.advance(w_.kept_, 1);
        ++o_;
      }}
    }}
  }}
}}
"""

    def finish(self):
        put = "".join(f"    reinterpret_cast<{TYPES[d]}*>(w_.out_.data[{k}])[c_.offset(w_.kept_, w_.out_.strides[{k}])] = "
                      f"Element<{TYPES[d]}, false>::put(r_.{p.name});\n" for k, (p, d) in enumerate(self.outputs))
        return f"""static void finish_(void* with_, int64_t first_, int64_t last_) {{
  const Work_& w_ = *static_cast<const Work_*>(with_);
{self.values}  LoopCursor c_(w_.kept_, first_);
  for (int64_t o_ = first_; o_ < last_; ++o_) {{
    R_ sum_ = w_.partial_[o_];
    for (long long part_ = 1; part_ < w_.pieces_.parts; ++part_) sum_ = reduce_(sum_, w_.partial_[part_ * w_.kept_.count + o_]);
    const Out_ r_ = post_({", ".join(["sum_", "w_.reduced_.count", *self.names])});
{put}    c_.advance(w_.kept_, 1);
  }}
}}
"""

    def host(self, dtypes, numbers):
        head = self.reduction.host_head(self.inputs, self.outputs, self.raws, dtypes, numbers)
        plan = self.reduction.plan(self.inputs, self.outputs, "w_.kept_", "w_.reduced_", "w_.by_kept_", "w_.by_reduced_", "w_.out_")
        given = "".join(f"  w_.{name} = {name};\n" for name in self.names)
        return f"""{head}  Work_ w_;
{plan}{given}  if (w_.kept_.count) {{
    // Many short rows are better walked across.
    w_.neighbours_ = keeps_neighbours(w_.kept_, w_.reduced_, w_.by_kept_.strides, w_.by_reduced_.strides, {len(self.inputs)}) ||
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
  return {self.reduction.result()[1]};
}}
"""
