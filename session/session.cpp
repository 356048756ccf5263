// The steps of a cell, in order: see Session::run.
#include "session/session.h"

#include <tarsia/detail/error_rows.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "base/cuda/cuda_driver.h"
#include "base/demangle.h"
#include "base/error.h"
#include "base/figures/elapsed.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "pipeline/pipeline.h"
#include "registry/call/call.h"
#include "registry/crash/crash_handler.h"
#include "registry/library/checked_code.h"
#include "registry/op/op_registry.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/recent_launches.h"
#include "session/cell_value.h"
#include "session/earlier_cells.h"
#include "session/output_capture.h"

namespace tarsia::session {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_most_tries = 64;

/// The class of Python's package.
std::string class_of(std::int32_t code) {
#define TARSIA_CLASS(code_, number, enumerator, cpp, python) \
  if (code == code_) return #python;
  TARSIA_DETAIL_ERROR_ROWS(TARSIA_CLASS)
#undef TARSIA_CLASS
  return "Error";
}

std::string name_of_cell(int number) {
  return "cell " + std::to_string(number);
}

/// The name of a function that a cell defines; the symbol itself if it is that of a variable or of nothing.
std::string function_of_symbol(const CellText& cell, std::string_view symbol) {
  for (const Item& item : cell.items())
    if (item.kind == "function" && std::ranges::find(item.symbols, symbol) != item.symbols.end())
      return item.names.front();
  return std::string(symbol);
}

/// Throws LoadError for a variable that nobody defines, and puts the first place that uses it into the
/// result.
[[noreturn]] void complain_of(const CellSymbol& missing, CellResult& result) {
  const std::string uses = missing.uses, first = uses.substr(0, uses.find(','));
  const std::string message = readable_symbol(missing.name) +
                              (uses.empty() ? "" : ", used at " + uses + ",") +
                              " is declared, and no cell and no library defines it: define it";
  if (const std::size_t colon = first.rfind(':'); colon != first.npos)
    result.diagnostics.insert(
        result.diagnostics.begin(),
        {.file = first.substr(0, colon), .line = std::stoi(first.substr(colon + 1)), .message = message});
  throw LoadError(message);
}

}  // namespace

Session::Session(SessionOptions options) : m_options(std::move(options)) {
  set_compile_options(std::move(m_options.compile));
  m_live.push_back({std::make_shared<const CellText>(CellText::ready()), nullptr});
}

void Session::set_compile_options(jit::CompileOptions options) {
  if (options.std == "c++11" || options.std == "c++14")
    throw ArgumentError::value_error("std: cells of a session are compiled as C++17 or newer, not " +
                                     options.std);
  m_options.compile = std::move(options);
}

Session::~Session() {
  // The newest first: its objects may refer to those of earlier cells. All code stays until the last object
  // is gone, since the newest may have defined what destroys it.
  for (auto one = m_live.rbegin(); one != m_live.rend(); ++one)
    if (one->module) one->module->finish();
  while (!m_live.empty()) m_live.pop_back();
  m_before.clear();
  // Whoever deletes the cache's folder next should meet no file that is about to come.
  pipeline::Pipeline::instance().settle();
}

void Session::refuse_open_comment(CellResult& result, const CellText& cell) const {
  const std::string_view before = std::string_view(cell.code()).substr(0, *cell.open_comment());
  result.diagnostics = {{.file = cell.name(),
                         .line = int(std::ranges::count(before, '\n')) + 1,
                         .column = int(before.size() - (before.rfind('\n') + 1)) + 1,  // npos + 1 is 0
                         .message = "a comment begins here that the cell does not end: add */"}};
  try {
    throw CompileError(cell.name() + " does not compile", Stage::source, result.diagnostics);
  } catch (...) {
    fail(result, {}, cell);
  }
}

CellResult Session::run(const std::string& text, int number) {
  CellResult result;
  result.number = number > 0 ? number : m_next;
  m_next = result.number + 1;
  CellText cell(name_of_cell(result.number), text);
  if (cell.open_comment()) {
    refuse_open_comment(result, cell);
    return result;
  }
  if (cell.is_empty() && !cell.has_macros()) {
    result.ok = true;
    return result;
  }
  CellTexts earlier;
  for (const Live& one : m_live) earlier.push_back(one.text);
  const InterruptScope scope(m_options.interrupted ? m_options.interrupted : [] { return false; });

  // 1. Move the includes to the front, unless a macro may change what they say.
  if (std::ranges::none_of(earlier, [](const auto& one) { return one->has_macros(); })) cell.move_includes();

  // 2. Compile. What the cell defines again is taken out of the earlier cells.
  const auto began = Clock::now();
  const CellTexts before = earlier;
  std::optional<pipeline::Module> module;
  try {
    try {
      module = compile(cell, earlier);
    } catch (const CompileError&) {
      // The cell may declare what an earlier one has defined as a macro.
      for (const std::string& macro : mentioned_macros(before, cell))
        if (!module) module = compile_without(macro, before, cell, earlier);
      if (!module) throw;
    }
  } catch (...) {
    fail(result, earlier, cell);
    result.compile_ms = milliseconds_since(began);
    return result;
  }
  result.compile_ms = milliseconds_since(began);
  result.origin = module->origin;
  result.diagnostics = of_cell(module->warnings, earlier);
  // What is about no text, such as a missing folder, is told once.
  std::erase_if(result.diagnostics, [&](const Diagnostic& one) {
    return one.file.empty() && one.severity == Severity::warning && !m_told.insert(one.message).second;
  });
  for (Diagnostic& one : result.diagnostics) place_includes(one, earlier, cell);

  // 3. Load, and tie to the others. From here on the cell's code uses what earlier cells have defined.
  const CellTexts seen = earlier;
  std::vector<Live> live;
  for (std::size_t i = 0; i < m_live.size(); ++i) live.push_back({std::move(earlier[i]), m_live[i].module});
  try {
    std::shared_ptr<CellModule> loaded;
    try {
      loaded = std::make_shared<CellModule>(*module, cell.name());
    } catch (const LoadError&) {
      // One of a shared store may want what this machine lacks. Run again, the cell is compiled here.
      pipeline::Pipeline::instance().reject(*module);
      throw;
    }
    CellModule& made = *loaded;
    cell.take_items(made.info());
    live.push_back({std::make_shared<const CellText>(cell), loaded});
    if (const CellSymbol* const missing = relink(live)) complain_of(*missing, result);
    write_fixups(made);

    // 4. Run.
    const auto ran = Clock::now();
    run_module(made, result);
    result.run_ms = milliseconds_since(ran);
  } catch (...) {
    fail(result, {}, cell);
  }
  if (!result.error.empty()) {
    (void)relink(m_live);
    return result;
  }

  // 5. Keep. From here on later cells see what the cell has declared.
  std::vector<std::string> undone = names_gone(before, seen, cell);
  note_stale(live, result);
  for (Live& one : live)
    if (one.module != live.back().module && one.text->is_replaced_by(cell)) {
      CellText changed = *one.text;
      changed.mark_replaced_by(cell);
      one.text = std::make_shared<const CellText>(std::move(changed));
    }
  note_compiled_in(live, undone, result);
  m_before.push_back(std::move(m_live));
  m_live = std::move(live);
  result.undone = std::move(undone);
  result.ok = true;
  return result;
}

pipeline::Module Session::compile(const CellText& cell, CellTexts& earlier) const {
  for (int i = 0;; ++i) {
    try {
      return pipeline::Pipeline::instance().compile(
          compose(without_unused_values(earlier, cell, m_options.compile), cell, m_options.compile));
    } catch (const CompileError& error) {
      if (i == k_most_tries ||
          !(drop_replaced(error.diagnostics(), cell, earlier) || drop_broken(error.diagnostics(), earlier)))
        throw;
      log().debug("{}: compiled again without what it replaces: {}", cell.name(), error.what());
    }
  }
}

std::optional<pipeline::Module> Session::compile_without(const std::string& macro, const CellTexts& before,
                                                         CellText& cell, CellTexts& earlier) const {
  CellTexts tried = before;
  CellText without = cell;
  without.undefine(macro);
  try {
    pipeline::Module module = compile(without, tried);
    without.take_items(CellModule(module, cell.name()).info());
    if (!declares(without.names(), macro)) return std::nullopt;
    cell = std::move(without);
    earlier = std::move(tried);
    return module;
  } catch (const Error&) {  // the first error says more
    return std::nullopt;
  }
}

Completed Session::complete(const std::string& text, std::size_t offset) const {
  offset = std::min(offset, text.size());
  const CellText cell(name_of_cell(m_next), text);
  CellTexts earlier;
  for (const Live& one : m_live) earlier.push_back(one.text);
  const std::string_view before = std::string_view(text).substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  pipeline::Pipeline::Completed found = pipeline::Pipeline::instance().complete(
      compose(earlier, cell, m_options.compile), int(std::ranges::count(before, '\n')) + 1,
      int(offset - line_begin) + 1);
  return {offset - std::min(offset, found.typed.size()), std::move(found.completions)};
}

/// Says why the cell failed; within a `catch`.
void Session::fail(CellResult& result, const CellTexts& earlier, const CellText& cell) const {
  registry::capture_error();
  const registry::LastError& error = registry::last_error();
  result.error = error.message;
  result.error_class = class_of(error.code);
  if (result.diagnostics.empty()) result.diagnostics = error.diagnostics;
  for (Diagnostic& one : result.diagnostics) place_includes(one, earlier, cell);
  const auto label = std::ranges::find_if(result.diagnostics, [](const Diagnostic& one) {
    return one.message.starts_with("use of undeclared label");
  });
  if (label != result.diagnostics.end())
    label->message += ": a cell's statements are no block, put the label and its goto between { and }";
}

namespace {

/// While it lives, reports of crashes tell what the compiler has warned of: a crash leaves no result.
class CrashNote {
 public:
  explicit CrashNote(const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& one : diagnostics)
      if (one.severity == Severity::warning) m_text += "  the compiler had warned: " + format(one) + "\n";
    m_before = registry::set_crash_note(m_text.c_str());
  }
  ~CrashNote() { registry::set_crash_note(m_before); }
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

 private:
  std::string m_text;
  const char* m_before = nullptr;
};

}  // namespace

void Session::run_module(CellModule& module, CellResult& result) {
  const CrashNote note(result.diagnostics);
  std::optional<OutputCapture> capture;
  if (m_options.keep_output) capture.emplace();
  (void)take_cell_value();
  (void)take_cell_image();
  forget_cell_place();
  registry::LibraryFunction function{};
  const std::string name = name_of_cell(result.number);
  function.function.name = name.c_str();
  function.function.signature = name.c_str();
  const bool uses_cuda = module.library()->uses_cuda() || std::ranges::any_of(m_live, [](const Live& one) {
                           return one.module && one.module->library()->uses_cuda();
                         });
  function.function.flags = uses_cuda ? TARSIA_FUNCTION_SOURCE_HAS_CUDA : 0;
  function.display_name = name.c_str();
  std::int32_t code = TARSIA_OK;
  {
    registry::CallFrame frame({TARSIA_CPU, 0});
    frame.context().user = this;
    frame.context().interrupted = [](void* self) -> std::int32_t {
      const SessionOptions& options = static_cast<Session*>(self)->m_options;
      return options.interrupted && options.interrupted();
    };
    frame.context().function = &function.function;
    try {
      module.run();
    } catch (...) {
      code = registry::capture_author_exception();
    }
    std::fflush(stdout);  // what the cell has printed comes before what the program prints next
    frame.context().function = nullptr;
    if (const std::string found = undefined_behaviour(module, result); !found.empty())
      code = registry::guarded([&] {
        throw UndefinedBehaviour(code ? found + "\nthe code then threw: " + registry::last_error().message
                                      : found);
      });
    if (code == TARSIA_OK)
      code = registry::guarded([&] {
        if (uses_cuda) {
          function.errors = launch_errors(module);
          registry::check_launches(function.function);
        }
        // What has waited for input, say, may have ended without an exception.
        if (m_options.interrupted && m_options.interrupted()) throw Interrupted("the cell was interrupted");
        const std::size_t told = module.library()->warnings().size();
        module.add_ops();
        for (const tarsia_diagnostic& one : module.library()->warnings().subspan(told))
          result.notes.emplace_back(one.message);
      });
    if (const std::string failure = uses_cuda ? failure_of_gpu(result) : "";
        code == TARSIA_OK && !failure.empty())
      code = registry::guarded([&] { throw CudaError(failure); });
  }
  if (capture) result.output = capture->finish();
  result.value = take_cell_value();
  result.image = take_cell_image();
  result.has_value = code == TARSIA_OK && !result.value.empty();
  if (code == TARSIA_OK) return;
  const registry::LastError& error = registry::last_error();
  result.error = error.message;
  result.error_class = class_of(code);
  if (Diagnostic place = take_cell_place(); place.line > 0) {
    place.message = error.message;
    result.diagnostics.insert(result.diagnostics.begin(), std::move(place));
  }
}

std::string Session::undefined_behaviour(const CellModule& running, const CellResult& result) const {
  std::string all;
  const auto add = [&](const CellModule& module) {
    void* const take = module.library()->symbol(registry::k_take_findings);
    if (!take) return;
    const std::string found =
        registry::findings(reinterpret_cast<registry::TakeFindings>(take), name_of_cell(result.number));
    if (!found.empty()) all += (all.empty() ? "" : "\n") + found;
  };
  for (const Live& one : m_live)
    if (one.module) add(*one.module);
  add(running);
  return all;
}

std::string Session::failure_of_gpu(CellResult& result) {
  CuContext context = nullptr;
  if (m_has_lost_gpu || !is_cuda_in_use() || find_cuda_driver()->cuCtxGetCurrent(&context) || !context)
    return {};
  const CuResult code = find_cuda_driver()->cuCtxSynchronize();
  if (!registry::is_fatal(code)) return {};  // while a stream is captured, nothing can be waited for
  m_has_lost_gpu = result.lost_gpu = true;
  return name_of_cell(result.number) + " gave the GPU work that failed: " + cuda_error_text(code) +
         ". CUDA cannot be used any more in this process";
}

registry::LaunchErrors Session::launch_errors(const CellModule& running) const {
  registry::LaunchErrors all{.from_launches_alone = true};
  bool has_failed = false;
  const auto add = [&](const CellModule& module) {
    const registry::LaunchErrors& one = module.library()->launch_errors();
    if (!one.runtime) return;
    all.runtime = one.runtime;
    all.from_launches_alone &= one.from_launches_alone;
    has_failed |= one.take_launch_error && one.take_launch_error() != 0;
  };
  for (const Live& one : m_live)
    if (one.module) add(*one.module);
  add(running);
  if (m_has_lost_gpu) all.from_launches_alone = true;  // what was told once is no error of this cell
  all.take_launch_error = has_failed ? +[]() -> std::int32_t { return 1; }
                                     : +[]() -> std::int32_t { return 0; };
  return all;
}

const CellSymbol* Session::relink(const std::vector<Live>& live) const {
  std::vector<LiveCell> cells;
  for (const Live& one : live)
    if (one.module) cells.push_back({one.module.get(), one.text->name()});
  return fill_slots(cells);
}

/// Names the cells whose code keeps something that is no longer what others see.
void Session::note_stale(const std::vector<Live>& live, CellResult& result) const {
  const CellModule& newest = *live.back().module;
  const std::vector<std::string> again = live.back().text->names();
  for (const CellSymbol& made : newest.symbols()) {
    if (!made.definition || made.kind == k_cell_shared) continue;
    for (const Live& one : live) {
      if (!one.module || one.module.get() == &newest) continue;
      for (const CellSymbol& used : one.module->symbols())
        if (std::string_view(used.name) == made.name && std::string_view(used.type) != made.type)
          for (const std::string& name : keepers(*one.text, function_of_symbol(*live.back().text, made.name)))
            if (std::ranges::find(again, name) == again.end())
              result.notes.push_back("'" + name + "' of " + one.text->name() + " keeps the earlier '" +
                                     used.type + "': this one is '" + made.type + "'");
    }
  }
}

/// Names the functions that were compiled with what the cell has defined again: a constant, a class, a
/// template, an inline function, a macro. Code calls a static function of its own cell directly, and one of
/// another cell through a slot.
void Session::note_compiled_in(const std::vector<Live>& live, const std::vector<std::string>& undone,
                               CellResult& result) const {
  const auto note = [&](const CellText& cell, const std::string& name) {
    for (const Item& item : cell.items())
      if ((item.kind == "function" ||
           (item.kind == "variable" && item.later.find("(*") != std::string::npos)) &&
          !item.same_later && !item.replaced && !item.dropped && last_part(item.names.front()) != name &&
          mentions(typed_of(cell, item), name))
        add_once(result.notes,
                 "'" + item.names.front() + "' of " + cell.name() + " keeps the earlier '" + name + "'");
  };
  for (const std::string& name : live.back().text->macros()) {
    const bool is_again = std::any_of(live.begin(), live.end() - 1, [&](const Live& one) {
      return std::ranges::find(one.text->macros(), name) != one.text->macros().end();
    });
    for (std::size_t i = 0; is_again && i + 1 < live.size(); ++i)
      if (live[i].module) note(*live[i].text, name);
  }
  for (std::size_t i = 0; i < m_live.size(); ++i) {
    const std::vector<Item>&before = m_live[i].text->items(), &now = live[i].text->items();
    for (std::size_t k = 0; k < before.size() && k < now.size() && m_live[i].module; ++k) {
      const bool is_static = std::ranges::any_of(
          before[k].symbols, [](const std::string& symbol) { return symbol.starts_with("_ZL"); });
      const bool is_again = before[k].same_later ? now[k].dropped && !before[k].dropped
                                                 : is_static && now[k].replaced && !before[k].replaced;
      const bool is_hidden = now[k].hidden.size() > before[k].hidden.size();
      if (!is_again && !is_hidden) continue;
      for (const std::string& name : is_again ? before[k].names : now[k].hidden) {
        if (std::ranges::find(undone, name) != undone.end()) continue;
        for (const Live& one : live)
          if (one.module && one.module != live.back().module &&
              (before[k].same_later || one.module == live[i].module))
            note(*one.text, name);
      }
    }
  }
}

std::vector<std::string> Session::undo() {
  if (m_before.empty()) return {};
  std::vector<std::string> names = m_live.back().text->names();
  const std::shared_ptr<CellModule> module = m_live.back().module;
  std::erase_if(names, [](const std::string& name) { return name.starts_with("tarsia_op_definition_"); });
  for (const char* op : module->library()->op_names()) names.emplace_back(op);
  registry::OpRegistry& ops = registry::OpRegistry::instance();
  ops.remove(*module->library());
  m_live = std::move(m_before.back());
  m_before.pop_back();
  (void)relink(m_live);
  // What the cell's ops had replaced, from the oldest on: the newest of a name stays.
  if (!module->library()->op_names().empty()) {
    const auto has_ops = [](const Live& one) {
      return one.module && !one.module->library()->op_names().empty();
    };
    for (const Live& one : m_live)
      if (has_ops(one)) ops.remove(*one.module->library());
    for (const Live& one : m_live)
      if (has_ops(one)) ops.add(one.module->library(), [](const std::string&) {});
  }
  return names;
}

std::vector<std::string> Session::ops() const {
  std::vector<std::string> names;
  for (const Live& one : m_live)
    if (one.module)
      for (const char* name : one.module->library()->op_names()) names.emplace_back(name);
  return names;
}

std::string Session::source_with(bool shown) const {
  CellTexts cells;
  for (const Live& one : m_live)
    if (one.module) cells.push_back(one.text);
  const std::string ready = m_live.front().text->later_text();
  std::map<ItemNumber, std::string> left_out;
  SessionSource made = make_source(cells, ready, shown);
  // What was compiled before something was defined in another way may mean nothing now.
  for (int i = 0; i < k_most_tries; ++i) {
    const std::size_t before = left_out.size();
    // Nor does it what names a type and says nothing of it, which g++ refuses.
    const auto leave_out_empty = [&](const Diagnostic& one) {
      if (one.file != "session" || one.message.find("does not declare anything") == std::string::npos) return;
      if (const SessionSource::Place* place = made.place_at(one.line, one.column))
        left_out.emplace(place->item, one.message);
    };
    try {
      pipeline::Source source;
      source.name = "session";
      source.options = m_options.compile;
      if (shown) source.options.defines.emplace_back("TARSIA_DETAIL_CODE_IS_SHOWN", std::nullopt);
      source.files.push_back({"session", made.text});
      std::ranges::for_each(pipeline::Pipeline::instance().compile(source).warnings, leave_out_empty);
    } catch (const CompileError& error) {
      std::ranges::for_each(error.diagnostics(), leave_out_empty);
      // Of an error in a header, a note says what has led there.
      bool is_told = true;
      std::string message;
      for (const Diagnostic& one : error.diagnostics()) {
        if (one.severity >= Severity::error) {
          is_told = false;
          message = one.message;
        }
        const SessionSource::Place* place =
            one.file == "session" && !is_told ? made.place_at(one.line, one.column) : nullptr;
        if (!place || one.severity == Severity::warning) continue;
        left_out.emplace(place->item, message);
        is_told = true;
      }
    } catch (const Error&) {  // whoever compiles the source hears of it
    }
    if (left_out.size() == before) break;
    made = make_source(cells, ready, shown, left_out);
  }
  return std::move(made.text);
}

}  // namespace tarsia::session
