// The command `tarsia`: docs/command.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>

#include "tools/commands.h"
#include "tools/process/restart.h"
#include "tools/report.h"
#include "tools/words.h"

namespace {

using namespace tarsia::tools;

/// Shows the arguments of `run` and `sanitize` in their help texts. They take file and arguments as they
/// come.
class Formatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = CLI::Formatter::make_usage(app, std::move(name));
    if (app->get_name() == "run" || app->get_name() == "sanitize")
      text.insert(text.find_last_not_of('\n') + 1, " FILE [ARGUMENTS...]");
    return text;
  }
};

/// Takes everything from FILE on as the program's arguments, options included.
template <class Command>
void take_file(const CLI::App& app, Command& command) {
  std::vector<std::string> words = app.remaining();
  if (words.empty()) throw CLI::RequiredError("FILE");
  command.file = words.front();
  if (command.file.size() > 1 && command.file.front() == '-')
    throw CLI::ExtrasError(app.get_name(), {"unknown option " + command.file});
  const bool marked = words.size() > 1 && words[1] == "--";
  command.arguments.assign(words.begin() + (marked ? 2 : 1), words.end());
}

/// The options of `sanitize` that are those of `run`.
std::vector<std::string> options_of_run(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--tool")
      ++i;
    else if (words[i] != "--all" && words[i] != "--json" && !words[i].starts_with("--tool="))
      kept.push_back(words[i]);
  }
  return kept;
}

/// Declares `tarsia cache` and its own subcommands. Returns the one that takes the options of a compile.
CLI::App* add_cache(CLI::App& app, CacheCommand& command) {
  using Action = CacheCommand::Action;
  CLI::App* cache_app = app.add_subcommand("cache", "Tells what the cache holds, and removes from it");
  cache_app->require_subcommand(1);
  const auto add = [&](const char* name, Action action, const char* help) {
    CLI::App* one = cache_app->add_subcommand(name, help);
    one->add_flag("--json", command.as_json, "As JSON");
    one->callback([&command, action] { command.action = action; });
    return one;
  };
  add("stats", Action::stats, "Hits, misses, compiles, entries and bytes")
      ->add_flag("--prometheus", command.as_prometheus, "Print Prometheus's text format")
      ->excludes("--json");
  add("ls", Action::ls, "Lists the entries, the one used last first");
  add("show", Action::show, "Tells of one entry: its inputs, and the files that it was compiled from")
      ->add_option("KEY", command.arguments, "The beginning of its key")
      ->required()
      ->expected(1);
  add("verify", Action::verify, "Reads every entry whole, and tells which are damaged")
      ->add_flag("--remove", command.remove, "Remove what is damaged");
  add("prune", Action::prune, "Removes entries, the longest unused first")
      ->add_option("--max-size", command.max_size, "The size that is left: 500M, 2G")
      ->required()
      ->type_name("SIZE");
  add("clear", Action::clear, "Removes all entries that no process has open");
  add("export", Action::export_pack, "Writes all modules into one file, for other machines")
      ->add_option("FILE", command.arguments, "The file")
      ->required()
      ->expected(1);
  add("import", Action::import_pack, "Takes in what `tarsia cache export` wrote: code, so trust its author")
      ->add_option("FILE", command.arguments, "The file")
      ->required()
      ->expected(1);
  add("keygen", Action::keygen,
      "Makes a pair of keys for a shared store: FILE signs, FILE.pub is for those who trust it")
      ->add_option("FILE", command.arguments, "The file of the signing key, which is not there yet")
      ->required()
      ->expected(1);
  CLI::App* explain =
      add("explain", Action::explain,
          "Tells which entry a source hits, or which of its inputs differ from the nearest one");
  add_compile_options(*explain, command.options);
  explain->add_option("FILE", command.arguments, "The source: one file or several")->required();
  return explain;
}

/// Suggests a subcommand for a misspelt one of the program, or of one of its commands.
int refuse_command(const CLI::App& app, const std::string& word) {
  const std::string of = app.get_parent() ? app.get_name() + ' ' : "";
  std::vector<std::string> known;
  for (const CLI::App* one : app.get_subcommands(nullptr)) known.push_back(one->get_name());
  std::vector<std::string> all = known;
  if (of.empty()) all.insert(all.end(), {"help", "version"});
  std::string near = nearest(word, all);
  if (near == "help" || near == "version") near.insert(0, "tarsia --");
  std::string text = "there is no command '" + of + word + "'";
  if (of.empty() && std::filesystem::exists(word))
    text += "; to run the file: tarsia run " + word;
  else if (!near.empty())
    text += "; did you mean '" + near + "'?";
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  print_error(text + "\nThere are " + list + "; tarsia " + of + "COMMAND --help lists the options of one.");
  return k_usage;
}

/// Suggests an option for a misspelt one; "" if none is near.
std::string suggested_option(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name.size() < 3 || name[0] != '-' || std::ranges::find(known, name) != known.end()) continue;
    if (const std::string near = nearest(name, known); near.size() > 2)
      return "there is no option '" + name + "'; did you mean '" + near + "'?";
  }
  return {};
}

/// The words behind `repl` as Python's parser takes them: options of a compile in the spelling of the table.
std::vector<std::string> words_for_repl(CLI::App& repl_app, std::vector<std::string> words) {
  CompileOptions known;
  add_compile_options(repl_app, known);
  repl_app.remove_option(repl_app.get_option("-W"));  // cflags takes all of these
  std::string text;
  repl_app.add_option("-c", text);  // the word behind it is a cell, whatever it begins with
  std::vector<std::string> translated =
      in_own_spelling(repl_app, {words.begin() + 1, words.end()}, /*up_to_file=*/false);
  for (std::size_t i = 0; i < translated.size(); ++i)
    if (translated[i] == "-w" && (i == 0 || translated[i - 1] != "-c")) translated[i] = "--cflags=-w";
  translated.insert(translated.begin(), "--translated");
  return translated;
}

CLI::App* add_run(CLI::App& app, RunCommand& command) {
  CLI::App* run_app =
      app.add_subcommand("run",
                         "Compiles a source and calls its main with the arguments; without a main, lists its "
                         "functions, kernels and ops. Takes libraries built ahead of time too");
  add_compile_options(*run_app, command.options);
  run_app->add_option("--with", command.with, "A further file of the source")
      ->allow_extra_args(false)
      ->type_name("FILE");
  run_app->prefix_command();
  return run_app;
}

CLI::App* add_compile(CLI::App& app, CompileCommand& command) {
  CLI::App* compile_app = app.add_subcommand("compile", "Compiles a source and writes the shared library");
  add_compile_options(*compile_app, command.options);
  compile_app->add_option("FILE", command.files, "The source: one file or several")->required();
  compile_app->add_option("-o", command.output, "The library to write")->required()->type_name("OUTPUT");
  return compile_app;
}

CLI::App* add_pack(CLI::App& app, PackCommand& command) {
  CLI::App* pack_app =
      app.add_subcommand("pack",
                         "Compiles sources, for each architecture by itself and without a GPU, "
                         "into one file, which tarsia.replay takes its modules from; or runs a "
                         "Python script and takes what it compiles");
  add_compile_options(*pack_app, command.options);
  pack_app
      ->add_option("FILE", command.files,
                   "The sources, each a library of its own; or a Python script, and its arguments behind --")
      ->required();
  pack_app->add_option("-o", command.output, "The pack to write")->required()->type_name("PACK");
  return pack_app;
}

CLI::App* add_check(CLI::App& app, CheckCommand& command) {
  CLI::App* check_app = app.add_subcommand(
      "check", "Tests the ops of a source or library on generated inputs, without any framework");
  add_compile_options(*check_app, command.options);
  check_app->add_option("FILE", command.file, "A source, or a library built ahead of time")->required();
  check_app->add_option("OP", command.ops, "The ops to test; all without any");
  check_app->add_option("--shapes", command.shapes,
                        "The inputs' shapes: '3,4;4,5'; 'csr:3,4' and 'rows:3,4' are sparse");
  check_app->add_option("--dtypes", command.dtypes, "One dtype, or one for each shape: 'float32;int64'");
  check_app->add_option("--attr", command.attributes, "An attribute")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  check_app->add_flag(
      "!--no-gradient", command.gradient,
      "Do not compare the gradient with finite differences: it is not meant to be the derivative");
  check_app
      ->add_option("--writes", command.writes,
                   "An input that the ops write to without declaring it; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  check_app
      ->add_option("--constant", command.constants,
                   "An input whose gradient nobody asks for, such as the labels of a loss; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  check_app->add_option("--seed", command.seed, "Of the inputs and the random states");
  check_app->add_flag_callback(
      "--asan", [&command] { command.options.options.debug = "address"; },
      "As --debug=address: AddressSanitizer finds memory errors in CPU code");
  return check_app;
}

CLI::App* add_sanitize(CLI::App& app, SanitizeCommand& command) {
  CLI::App* sanitize_app = app.add_subcommand("sanitize",
                                              "Runs a program, or a Python script, under NVIDIA's "
                                              "compute-sanitizer, and shows what it finds in kernels: bad "
                                              "memory accesses, or what another tool looks for");
  sanitize_app
      ->add_option(
          "--tool", command.tool,
          "memcheck: bad accesses and failed calls; racecheck: races in shared memory; initcheck: reads of "
          "memory that nothing was written to; synccheck: barriers; memcheck by default")
      ->check(CLI::IsMember(std::vector<std::string>{"memcheck", "racecheck", "initcheck", "synccheck"}))
      ->type_name("TOOL");
  sanitize_app->add_flag("--all", command.all, "Run it once under each tool");
  sanitize_app->add_flag("--json", command.as_json, "The findings as JSON");
  add_compile_options(*sanitize_app, command.options);
  sanitize_app->add_option("--with", command.with, "A further file of the source")
      ->allow_extra_args(false)
      ->type_name("FILE");
  sanitize_app->prefix_command();
  return sanitize_app;
}

CLI::App* add_show(CLI::App& app, ShowCommand& command) {
  CLI::App* show_app =
      app.add_subcommand("show", "Shows the code that a source became; without an option, what it has");
  add_compile_options(*show_app, command.options);
  show_app->remove_option(show_app->get_option("--ptx"));
  show_app->add_option("FILE", command.file, "A source, or a library built ahead of time")->required();
  show_app->add_option("NAME", command.names, "Parts of the names of functions or kernels; all without any");
  show_app->add_flag("--ptx", command.ptx, "The kernels' PTX");
  show_app->add_flag("--sass", command.sass, "The kernels' machine code, by nvdisasm");
  show_app->add_flag("--asm", command.assembly,
                     "The functions' machine code, by objdump, with their lines if the code keeps them");
  show_app->add_flag("--ir", command.ir,
                     "The functions in LLVM's IR, after optimisation; with -O0 or --dev as Clang wrote them");
  show_app->add_flag("--regs", command.registers, "The kernels' registers and memory");
  return show_app;
}

CLI::App* add_bench(CLI::App& app, BenchCommand& command) {
  CLI::App* bench_app = app.add_subcommand("bench", "Times a function or an op");
  add_compile_options(*bench_app, command.options);
  bench_app->add_option("FILE", command.file, "A source, or a library built ahead of time")->required();
  bench_app->add_option("NAME", command.what, "A function or an op");
  bench_app->add_option(
      "ARGUMENT", command.arguments,
      "5, 0.5, true, none, a text, [1,2,3], float32[64,128]; of an op tensors and NAME=VALUE");
  bench_app->add_option("--device", command.device, "Where the tensors are; otherwise where it runs")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "gpu"}));
  return bench_app;
}

/// Says what is wrong with the first word behind `new`; "" if nothing is.
std::string fault_of_kind(const std::string& word) {
  const std::vector<std::string> kinds{"op"};
  if (std::ranges::find(kinds, word) != kinds.end()) return {};
  const std::string near = nearest(word, kinds);
  return "'" + word + "' is nothing to begin with; " +
         (near.empty() ? "there is 'op'" : "did you mean '" + near + "'?");
}

CLI::App* add_new(CLI::App& app, NewCommand& command) {
  CLI::App* new_app = app.add_subcommand("new", "Writes a folder to begin with: tarsia new op NAME");
  new_app->add_option("WHAT", command.kind, "What to begin: op")->required()->check(fault_of_kind);
  new_app->add_option("NAME", command.name, "Its name")->required();
  new_app->add_option("--folder", command.folder, "Where; otherwise the name");
  new_app->add_flag("--class", command.with_class,
                    "An op with a state: a class, of which each bound op has an object");
  return new_app;
}

CLI::App* add_serve(CLI::App& app, ServeCommand& command) {
  CLI::App* serve_app =
      app.add_subcommand("serve",
                         "Keeps compilers warm for all processes of this user that have the socket's "
                         "path in TARSIA_SERVICE; until SIGINT or SIGTERM");
  serve_app->add_option("--socket", command.socket, "The Unix socket to make")->required()->type_name("PATH");
  serve_app->add_option("--workers", command.workers, "Compilers; otherwise one for each core")
      ->check(CLI::Range(1u, static_cast<unsigned>(TARSIA_MAX_SERVICE_WORKERS)));
  serve_app
      ->add_option("--per-client", command.per_client,
                   "Compilers that one process has at a time; otherwise all")
      ->check(CLI::Range(1u, static_cast<unsigned>(TARSIA_MAX_SERVICE_WORKERS)));
  serve_app
      ->add_option("--queue", command.queue,
                   "Requests that wait, beyond which processes are told that it is busy; 64 by default")
      ->check(CLI::Range(1u, 1u << 20));
  serve_app->add_flag("--metrics", command.metrics,
                      "Serve nothing: print the figures of the service at the socket, in Prometheus's text");
  return serve_app;
}

CLI::App* add_doctor(CLI::App& app, bool& as_json) {
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "Tells what is found or missing on this machine and what to do about it");
  doctor_app->add_flag("--json", as_json, "As JSON");
  return doctor_app;
}

/// The program without its subcommands, which take over the formatter when they are added.
std::unique_ptr<CLI::App> make_app() {
  auto app = std::make_unique<CLI::App>("Compiles C++ and CUDA sources and runs them.", "tarsia");
  app->set_version_flag("--version", std::string("tarsia ") + tarsia_version());
  app->formatter(std::make_shared<Formatter>());
  app->require_subcommand(1);
  return app;
}

/// All subcommands, and what each was given.
struct Commands {
  const std::unique_ptr<CLI::App> own_app = make_app();
  CLI::App& app = *own_app;
  RunCommand run;
  CompileCommand compile;
  PackCommand pack;
  CheckCommand check;
  SanitizeCommand sanitize;
  ShowCommand show;
  BenchCommand bench;
  NewCommand new_op;
  CacheCommand cache;
  ServeCommand serve;
  bool doctor_as_json = false;
  // In the order in which the help text lists them.
  CLI::App* const run_app = add_run(app, run);
  CLI::App* const compile_app = add_compile(app, compile);
  CLI::App* const pack_app = add_pack(app, pack);
  CLI::App* const check_app = add_check(app, check);
  CLI::App* const sanitize_app = add_sanitize(app, sanitize);
  CLI::App* const show_app = add_show(app, show);
  CLI::App* const bench_app = add_bench(app, bench);
  CLI::App* const new_app = add_new(app, new_op);
  // Python's own parsers read what follows `repl` and `jupyter`.
  CLI::App* const repl_app =
      app.add_subcommand("repl", "A prompt: C++ and CUDA are typed, compiled and run cell by cell");
  CLI::App* const jupyter_app =
      app.add_subcommand("jupyter", "Makes the kernel of notebooks known to Jupyter: tarsia jupyter install");
  CLI::App* const explain_app = add_cache(app, cache);
  CLI::App* const cache_app = explain_app->get_parent();
  CLI::App* const serve_app = add_serve(app, serve);
  CLI::App* const doctor_app = add_doctor(app, doctor_as_json);
};

/// The words behind `tarsia COMMAND` as CLI11 takes them, in front of which stand the words up to COMMAND.
/// Takes those behind `--` of `pack` out of them.
std::vector<std::string> words_for(Commands& all, const CLI::App* command, std::vector<std::string> words) {
  // The options of a compile belong to the second word of `cache explain`.
  const bool explains = command == all.cache_app && words.size() > 1 && words[1] == "explain";
  const std::ptrdiff_t n_words = explains ? 2 : 1;
  if (command == all.pack_app)
    if (const auto mark = std::ranges::find(words, "--"); mark != words.end()) {
      all.pack.arguments.assign(mark + 1, words.end());
      words.erase(mark, words.end());
    }
  std::vector<std::string> rest =
      in_own_spelling(explains ? *all.explain_app : *command, {words.begin() + n_words, words.end()},
                      command == all.run_app || command == all.sanitize_app);
  if (command == all.bench_app)  // CLI11 takes lists in brackets apart
    for (std::string& word : rest)
      if (word.starts_with('[')) word.insert(0, "list:");
  words.resize(static_cast<std::size_t>(n_words));
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

/// A script says by itself how it compiles. Throws for an option that it would not get.
void check_options_of_script(const CLI::App& pack_app, const PackCommand& command) {
  if (!command.files.front().ends_with(".py")) return;
  for (const CLI::Option* option :
       pack_app.get_options([](const CLI::Option* one) { return one->count() > 0; }))
    if (const std::string name = option->get_name(); name != "FILE" && name != "-o" && name != "--arch")
      throw std::runtime_error("pack " + command.files.front() + " takes no " + name +
                               ": a script's own calls of tarsia say how they compile");
}

/// Fills the structs. Throws CLI::ParseError.
void parse(Commands& all, std::vector<std::string> words) {
  const std::vector<std::string> given = words;
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  all.app.parse(std::move(words));
  if (*all.pack_app) check_options_of_script(*all.pack_app, all.pack);
  if (*all.run_app) take_file(*all.run_app, all.run);
  if (*all.sanitize_app) {
    take_file(*all.sanitize_app, all.sanitize);
    const std::size_t n_behind = all.sanitize_app->remaining().size();
    all.sanitize.run_words = options_of_run({given.begin() + 1, given.end() - std::ptrdiff_t(n_behind)});
  }
}

/// Prints what the words do not fit, or the help text that they ask for.
int report_parse(const CLI::App& app, const CLI::ParseError& error) {
  const auto used = app.get_subcommands();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !used.empty())
    if (const std::string text = suggested_option(*used.back(), used.front()->remaining(true));
        !text.empty()) {
      print_error(text);
      return k_usage;
    }
  return app.exit(error) == 0 ? k_done : k_usage;
}

int dispatch(const Commands& all, char** argv) {
  if (*all.run_app) start_again_for_sanitizer(all.run.options, argv);
  if (*all.check_app) start_again_for_sanitizer(all.check.options, argv);
  if (*all.bench_app) start_again_for_sanitizer(all.bench.options, argv);
  if (*all.run_app) return run(all.run);
  if (*all.serve_app) return serve(all.serve);
  if (*all.compile_app) return compile(all.compile);
  if (*all.pack_app) return pack(all.pack);
  if (*all.check_app) return check(all.check);
  if (*all.sanitize_app) return sanitize(all.sanitize);
  if (*all.show_app) return show(all.show);
  if (*all.bench_app) return bench(all.bench);
  if (*all.new_app) return new_op(all.new_op);
  if (*all.cache_app) return cache(all.cache);
  return doctor(all.doctor_as_json);
}

int call(int argc, char** argv) {
  Commands all;
  CLI::App& app = all.app;
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && !words[0].starts_with('-')) {
    const std::vector<CLI::App*> known = app.get_subcommands(nullptr);
    const auto found =
        std::ranges::find(known, words[0], [](const CLI::App* one) { return one->get_name(); });
    if (found == known.end()) return refuse_command(app, words[0]);
    if (*found == all.repl_app) return run_in_python("repl", words_for_repl(*all.repl_app, std::move(words)));
    if (*found == all.jupyter_app) return run_in_python("jupyter", {words.begin() + 1, words.end()});
    if (*found == all.cache_app && words.size() > 1 && !words[1].starts_with('-')) {
      const std::vector<CLI::App*> actions = all.cache_app->get_subcommands(nullptr);
      if (std::ranges::none_of(actions, [&](const CLI::App* one) { return one->get_name() == words[1]; }))
        return refuse_command(*all.cache_app, words[1]);
    }
    words = words_for(all, *found, std::move(words));
  }
  try {
    parse(all, std::move(words));
  } catch (const CLI::ParseError& error) {
    return report_parse(app, error);
  }
  return dispatch(all, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return call(argc, argv);
  } catch (const std::exception& error) {
    print_error(error.what());
    return k_failed;
  }
}
