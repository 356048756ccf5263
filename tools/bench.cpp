// `tarsia bench`: times a function or an op on arguments that the command makes.
//
// A sample is a series of calls that is long enough for the clock. On the CPU, the host's clock times it. On
// a GPU, CUDA events before and after it do, so that the time is the GPU's as long as the calls stay ahead of
// it. A small source holds the events, because the command links nothing of CUDA.
#include <tarsia/tarsia.h>
#include <tarsia/tensor.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "tools/commands.h"
#include "tools/library.h"
#include "tools/opening.h"
#include "tools/report.h"
#include "tools/words.h"

namespace tarsia::tools {
namespace {

/// The arguments of the timed calls.
struct Arguments {
  std::deque<Tensor> tensors;                   ///< `values` point to these
  std::deque<std::string> texts;                ///< and to these
  std::deque<std::vector<tarsia_value>> lists;  ///< and to these
  std::vector<tarsia_value> values;             ///< in the order of the command line
  Attributes attributes;                        ///< NAME=VALUE
};

DType computed_dtype(const std::string& wanted) {
  std::string known;
  for (const detail::NamedDtype& one : detail::dtype_names()) {
    if (!detail::is_computed_with(one.code)) continue;
    if (wanted == one.name) return {one.code, one.bits, 1};
    known += std::string(known.empty() ? "" : ", ") + one.name;
  }
  throw std::invalid_argument("'" + wanted + "' is no dtype of a tensor that bench can fill; there are " +
                              known);
}

/// Makes elements from which arithmetic makes no infinities or denormal numbers: 0.5 to 1.5, integers from 0
/// to 6.
void fill(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double value = 0.5 + static_cast<double>(i * 7 % 1009) / 1009;
    char* const at = static_cast<char*>(tensor.data()) + i * bytes_of(dtype);
    const auto put = [&](auto element) { std::memcpy(at, &element, sizeof element); };
    if (dtype == float32)
      put(static_cast<float>(value));
    else if (dtype == float64)
      put(value);
    else if (dtype == float16)
      put(static_cast<uint16_t>(0x3800 + i * 7 % 0x400));  // 0.5 to 1
    else if (dtype == bfloat16)
      put(static_cast<uint16_t>(0x3F00 + i * 7 % 0x80));  // 0.5 to 1
    else if (dtype == bool8)
      put(static_cast<uint8_t>(i & 1));
    else if (bytes_of(dtype) == 1)
      put(static_cast<uint8_t>(i % 7));
    else if (bytes_of(dtype) == 2)
      put(static_cast<uint16_t>(i % 7));
    else if (bytes_of(dtype) == 4)
      put(static_cast<uint32_t>(i % 7));
    else
      put(static_cast<uint64_t>(i % 7));
  }
}

/// Makes the tensor of a word like "float32[64,128]" or "float32[]".
Tensor tensor_of(const std::string& text, std::size_t bracket, Device device) {
  std::vector<int64_t> shape;
  const char* at = text.c_str() + bracket + 1;
  while (*at != ']') {
    char* end = nullptr;
    shape.push_back(std::strtoll(at, &end, 10));
    if (end == at || shape.back() < 0 || (*end != ',' && *end != ']'))
      throw std::invalid_argument("'" + text + "' is no tensor: write float32[64,128]");
    at = *end == ',' ? end + 1 : end;
  }
  tarsia_storage* storage = nullptr;
  if (tarsia_empty(shape.data(), static_cast<int32_t>(shape.size()), computed_dtype(text.substr(0, bracket)),
                   Device{TARSIA_CPU, 0}, &storage) != 0)
    throw std::invalid_argument("'" + text + "' cannot be made: " + tarsia_last_error()->message);
  Tensor tensor = Tensor::own(storage);
  fill(tensor);
  return device.type == TARSIA_CPU ? tensor : copy_to(tensor, device);
}

/// Makes the argument of a whole number of 64 bits, with or without a sign. Returns false if the text is
/// none.
bool read_integer(std::string_view text, tarsia_value& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto is = [&](auto number) {
    const auto [last, error] = std::from_chars(text.data(), end, number);
    if (last != end || error != std::errc()) return false;
    value = std::is_signed_v<decltype(number)> ? tarsia_signed(static_cast<int64_t>(number))
                                               : tarsia_unsigned(static_cast<uint64_t>(number));
    return true;
  };
  return is(int64_t{}) || is(uint64_t{});
}

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(
      "'" + text +
      "' is no argument: write 5, 0.5, true, none, a text, [1,2,3] or float32[64,128]; int:5, "
      "float:5 and string:5 say which is meant; NAME=VALUE is an op's attribute");
}

/// The kind that a word without "KIND:" in front of it has.
std::string kind_of(const std::string& text) {
  tarsia_value number{};
  if (text == "true" || text == "false") return "bool";
  if (text == "none") return "none";
  if (text.starts_with('[') && text.ends_with(']')) return "list";
  if (read_integer(text, number)) return "int";
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  if (end != text.c_str() && !*end) return "float";
  // What looks like a mistyped tensor or kind is no text.
  return text.empty() || text.find_first_of("[]():,") != std::string::npos ? "" : "string";
}

/// Splits the inside of a list at its commas.
std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  int depth = 0;
  for (const char c : text.substr(1, text.size() - 2)) {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0) {
      items.push_back(std::move(item));
      item.clear();
    } else if (c != ' ' || !item.empty()) {
      item += c;
    }
  }
  if (!item.empty() || !items.empty()) items.push_back(std::move(item));
  return items;
}

/// Makes the argument of a word like "int:5", "5", "0.5", "true", "none", "string:text", "[1,2]" or
/// "float32[4096]".
tarsia_value value_of(Arguments& arguments, const std::string& text, Device device) {
  const std::size_t bracket = text.find('[');
  tarsia_value value{};
  if (bracket != 0 && bracket != std::string::npos && text.back() == ']' && text.find(':') > bracket) {
    arguments.tensors.push_back(tensor_of(text, bracket, device));
    value.kind = TARSIA_KIND_TENSOR;
    value.t = arguments.tensors.back().get();
    return value;
  }
  static const std::vector<std::string> s_kinds{"bool", "int", "float", "string", "list"};
  const std::size_t colon = text.find(':');
  std::string kind = colon == std::string::npos ? "" : text.substr(0, colon);
  const bool is_given = std::ranges::find(s_kinds, kind) != s_kinds.end();
  const std::string rest = is_given ? text.substr(colon + 1) : text;
  if (!is_given) kind = kind_of(text);
  if (kind == "bool" && (rest == "true" || rest == "false")) {
    value.kind = TARSIA_KIND_BOOL, value.i = rest == "true";
  } else if (kind == "none") {
    value.kind = TARSIA_KIND_NONE;
  } else if (kind == "int") {
    if (!read_integer(rest, value)) refuse(text);
  } else if (kind == "float") {
    char* end = nullptr;
    value.kind = TARSIA_KIND_FLOAT, value.f = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str() || *end || (std::isinf(value.f) && rest.find_first_of("iI") == rest.npos))
      refuse(text);
  } else if (kind == "string") {
    arguments.texts.push_back(rest);
    value.kind = TARSIA_KIND_STRING, value.s = arguments.texts.back().c_str();
    value.size = static_cast<uint32_t>(rest.size());
  } else if (kind == "list" && rest.starts_with('[') && rest.ends_with(']') && rest.size() > 1) {
    std::vector<tarsia_value> items;
    for (const std::string& item : items_of(rest)) items.push_back(value_of(arguments, item, device));
    arguments.lists.push_back(std::move(items));
    value.kind = TARSIA_KIND_LIST, value.v = arguments.lists.back().data();
    value.size = static_cast<uint32_t>(arguments.lists.back().size());
  } else {
    refuse(text);
  }
  return value;
}

Arguments read(const std::vector<std::string>& words, Device device) {
  Arguments arguments;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && word.find_first_of("[:") > equals)
      arguments.attributes.emplace(word.substr(0, equals), word.substr(equals + 1));
    else
      arguments.values.push_back(value_of(arguments, word, device));
  }
  return arguments;
}

/// Returns the milliseconds that `n` calls take.
using Timer = std::function<double(long n, const std::function<void()>& call)>;

double host_time(long n, const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < n; ++i) call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// CUDA events on the current stream.
Timer gpu_timer() {
  static constexpr char k_events[] = R"(
    #include <stdexcept>
    static cudaEvent_t begin_, end_;
    static void check(cudaError_t code) { if (code) throw std::runtime_error(cudaGetErrorString(code)); }
    void begin(cudaStream_t stream) {
      if (!begin_) { check(cudaEventCreate(&begin_)); check(cudaEventCreate(&end_)); }
      check(cudaEventRecord(begin_, stream));
    }
    float end(cudaStream_t stream) {
      check(cudaEventRecord(end_, stream));
      check(cudaEventSynchronize(end_));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_));
      return ms;
    })";
  auto events =
      std::make_shared<Library>(load_inline(Files{{"events.cu", k_events}}, {.name = "tarsia_bench_events"}));
  return [events](long n, const std::function<void()>& call) {
    (*events)["begin"].call();
    for (long i = 0; i < n; ++i) call();
    return static_cast<double>((*events)["end"].call<float>());
  };
}

std::string with_unit(double ms) {
  char text[32];
  if (ms < 1e-3)
    std::snprintf(text, sizeof text, "%.1f ns", ms * 1e6);
  else if (ms < 1)
    std::snprintf(text, sizeof text, "%.2f us", ms * 1e3);
  else if (ms < 1e3)
    std::snprintf(text, sizeof text, "%.2f ms", ms);
  else
    std::snprintf(text, sizeof text, "%.2f s", ms / 1e3);
  return text;
}

void measure(const std::string& what, const std::function<void()>& call, const Timer& time,
             const char* clock) {
  constexpr double k_warm_up = 100, k_sample = 0.2, k_all = 1000;  // ms
  constexpr long k_samples = 101;
  double spent = 0;
  long calls = 1;
  // The first calls load code and fill caches. Their time decides how many calls make a sample.
  while (spent < k_warm_up) {
    const double ms = time(calls, call);
    spent += std::max(ms, 1e-3);
    if (ms < k_sample)
      calls *= 2;
    else if (spent > k_warm_up / 4)
      break;
  }
  std::vector<double> samples;
  double all = 0;
  while (samples.size() < k_samples && (samples.size() < 5 || all < k_all)) {
    const double ms = time(calls, call);
    all += ms;
    samples.push_back(ms / static_cast<double>(calls));
  }
  std::ranges::sort(samples);
  const auto at = [&](double part) {
    return samples[static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1))];
  };
  std::printf("%s: %s median, %s to %s (quartiles), %s least; %zu samples of %ld call%s, %s\n", what.c_str(),
              with_unit(at(0.5)).c_str(), with_unit(at(0.25)).c_str(), with_unit(at(0.75)).c_str(),
              with_unit(samples[0]).c_str(), samples.size(), calls, calls == 1 ? "" : "s", clock);
}

const char* clock_name(Device device) {
  return device.type == TARSIA_CPU ? "the host's clock" : "CUDA's events";
}

Device device_for(const BenchCommand& command, bool wants_gpu) {
  if (command.device == "cpu" || (command.device.empty() && !wants_gpu)) return {TARSIA_CPU, 0};
  return {TARSIA_GPU, 0};
}

void bench_function(const BenchCommand& command, const std::vector<const tarsia_function*>& overloads) {
  const bool wants_gpu = overloads[0]->flags & TARSIA_FUNCTION_TAKES_STREAM;
  const Device device = device_for(command, wants_gpu);
  const Arguments arguments = read(command.arguments, device);
  if (!arguments.attributes.empty())
    throw std::invalid_argument("'" + arguments.attributes.begin()->first + "=…' is an op's attribute, and " +
                                command.what + " is a function: give its arguments in order");
  const std::function<void()> call = [&] {
    tarsia_call_context context{};
    context.size = sizeof(context);
    context.framework = 1;
    tarsia_call_context** const slot = tarsia_call_slot();
    tarsia_value result{};
    tarsia_enter_call(slot, &context);
    const int32_t code = tarsia_call(overloads.data(), overloads.size(), arguments.values.data(),
                                     static_cast<uint32_t>(arguments.values.size()), &result);
    if (!code) detail::drop(result);
    tarsia_leave_call(slot, &context);
    detail::check(code);
  };
  measure(command.what, call, device.type == TARSIA_CPU ? Timer(host_time) : gpu_timer(), clock_name(device));
}

void bench_op(const BenchCommand& command) {
  const Op op(command.what);
  const tarsia_op& described = op.describe();
  bool runs_on_cpu = false;
  for (uint32_t i = 0; i < described.n_implementations; ++i)
    runs_on_cpu |= described.implementations[i].pass == TARSIA_FORWARD &&
                   described.implementations[i].device_type == TARSIA_CPU;
  const Device device = device_for(command, !runs_on_cpu);
  const Arguments arguments = read(command.arguments, device);
  if (arguments.tensors.size() != arguments.values.size())
    throw std::invalid_argument("an op takes tensors, and its attributes as NAME=VALUE");
  const std::vector<Tensor> inputs(arguments.tensors.begin(), arguments.tensors.end());
  const Timer timer = device.type == TARSIA_CPU ? Timer(host_time) : gpu_timer();
  const BoundOp bound = op.bind(inputs, arguments.attributes);
  const std::vector<Tensor> outputs = bound(inputs);
  measure(command.what, [&] { bound.run(inputs, outputs); }, timer, clock_name(device));
}

/// The functions of a name, or of this last part of it.
std::vector<const tarsia_function*> functions_named(const tarsia_library* library, const std::string& name) {
  uint64_t n = 0;
  const tarsia_function* const* functions = tarsia_library_functions(library, &n);
  std::vector<const tarsia_function*> exact, by_tail;
  for (uint64_t i = 0; i < n; ++i) {
    if (name == functions[i]->name) exact.push_back(functions[i]);
    if (std::string_view(functions[i]->name).ends_with("::" + name)) by_tail.push_back(functions[i]);
  }
  if (!exact.empty()) return exact;
  std::string names;
  for (const tarsia_function* one : by_tail)
    if (std::string_view(one->name) != by_tail[0]->name)
      names = std::string(by_tail[0]->name) + " or " + one->name;
  if (!names.empty()) throw std::invalid_argument("'" + name + "' may be " + names + ": write one of them");
  return by_tail;
}

/// Why there is nothing of a name to measure.
std::string missing(const tarsia_library* library, const BenchCommand& command) {
  std::vector<std::string> known;
  uint64_t n = 0;
  const tarsia_function* const* functions = tarsia_library_functions(library, &n);
  for (uint64_t i = 0; i < n; ++i) known.emplace_back(functions[i]->name);
  const char* const* ops = tarsia_library_ops(library, &n);
  for (uint64_t i = 0; i < n; ++i) known.emplace_back(ops[i]);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  if (command.what.empty())
    return list.empty() ? command.file + " has no function or op"
                        : "name a function or op of " + command.file + ": " + list;
  const std::string text = command.file + " has no function or op '" + command.what + "'";
  const tarsia_kernel* const* kernels = tarsia_library_kernels(library, &n);
  for (uint64_t i = 0; i < n; ++i)
    if (command.what == kernels[i]->name)
      return "'" + command.what + "' is a kernel: bench takes a function that launches it, or an op";
  const tarsia_skipped* skipped = tarsia_library_skipped(library, &n);
  for (uint64_t i = 0; i < n; ++i)
    if (command.what == skipped[i].name) return text + " that can be called: it " + skipped[i].reason;
  if (const std::string near = nearest(command.what, known); !near.empty())
    return text + "; did you mean '" + near + "'?";
  return text + (list.empty() ? "" : "; there are " + list);
}

}  // namespace

int bench(const BenchCommand& command) {
  const Sources sources = sources_for(command.file);
  int exit = k_done;
  const tarsia_library* library = open_library(command.file, command.options, sources, exit);
  if (!library) return exit;
  uint64_t n = 0;
  const char* const* ops = tarsia_library_ops(library, &n);
  const bool is_op = std::any_of(ops, ops + n, [&](const char* op) { return command.what == op; });
  try {
    const std::vector<const tarsia_function*> overloads = functions_named(library, command.what);
    if (!overloads.empty()) {
      bench_function(command, overloads);
    } else if (is_op) {
      bench_op(command);
    } else {
      print_error(missing(library, command));
      return k_usage;
    }
  } catch (const std::invalid_argument& error) {
    print_error(error.what());
    return k_usage;
  } catch (const Error& error) {
    static constexpr std::string_view k_events =
        "begin() works on a GPU, as it takes a stream: ";  // gpu_timer's
    const bool is_of_arguments =
        error.code() == TARSIA_ARGUMENT_TYPE || error.code() == TARSIA_ARGUMENT_VALUE;
    if (is_of_arguments || !error.diagnostics().empty()) return report_last_error(&sources);
    const std::string text = error.what();
    print_error(text.starts_with(k_events) ? "nothing runs on a GPU here: " + text.substr(k_events.size())
                : text.starts_with(command.what) ? text
                                                 : command.what + ": " + text);
    return k_failed;
  }
  return k_done;
}

}  // namespace tarsia::tools
