// The command `tarsia`: docs/command.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>

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

/// Suggests a subcommand for a misspelt first word.
int refuse_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* one : app.get_subcommands(nullptr)) known.push_back(one->get_name());
  std::vector<std::string> all = known;
  all.insert(all.end(), {"help", "version"});
  std::string near = nearest(word, all);
  if (near == "help" || near == "version") near.insert(0, "tarsia --");
  std::string text = "there is no command '" + word + "'";
  if (std::filesystem::exists(word))
    text += "; to run the file: tarsia run " + word;
  else if (!near.empty())
    text += "; did you mean '" + near + "'?";
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  print_error(text + "\nThere are " + list + "; tarsia COMMAND --help lists the options of one.");
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

int call(int argc, char** argv) {
  CLI::App app("Compiles C++ and CUDA sources and runs them.", "tarsia");
  app.set_version_flag("--version", std::string("tarsia ") + tarsia_version());
  app.formatter(std::make_shared<Formatter>());
  app.require_subcommand(1);

  RunCommand run_command;
  CLI::App* run_app =
      app.add_subcommand("run",
                         "Compiles a source and calls its main with the arguments; without a main, lists its "
                         "functions, kernels and ops. Takes libraries built ahead of time too");
  add_compile_options(*run_app, run_command.options);
  run_app->add_option("--with", run_command.with, "A further file of the source")
      ->allow_extra_args(false)
      ->type_name("FILE");
  run_app->prefix_command();

  CompileCommand compile_command;
  CLI::App* compile_app = app.add_subcommand("compile", "Compiles a source and writes the shared library");
  add_compile_options(*compile_app, compile_command.options);
  compile_app->add_option("FILE", compile_command.files, "The source: one file or several")->required();
  compile_app->add_option("-o", compile_command.output, "The library to write")
      ->required()
      ->type_name("OUTPUT");

  PackCommand pack_command;
  CLI::App* pack_app =
      app.add_subcommand("pack",
                         "Compiles sources, for each architecture by itself and without a GPU, "
                         "into one file, which tarsia.replay takes its modules from; or runs a "
                         "Python script and takes what it compiles");
  add_compile_options(*pack_app, pack_command.options);
  pack_app
      ->add_option("FILE", pack_command.files,
                   "The sources, each a library of its own; or a Python script, and its arguments behind --")
      ->required();
  pack_app->add_option("-o", pack_command.output, "The pack to write")->required()->type_name("PACK");

  CheckCommand check_command;
  CLI::App* check_app = app.add_subcommand(
      "check", "Tests the ops of a source or library on generated inputs, without any framework");
  add_compile_options(*check_app, check_command.options);
  check_app->add_option("FILE", check_command.file, "A source, or a library built ahead of time")->required();
  check_app->add_option("OP", check_command.ops, "The ops to test; all without any");
  check_app->add_option("--shapes", check_command.shapes,
                        "The inputs' shapes: '3,4;4,5'; 'csr:3,4' and 'rows:3,4' are sparse");
  check_app->add_option("--dtypes", check_command.dtypes,
                        "One dtype, or one for each shape: 'float32;int64'");
  check_app->add_option("--attr", check_command.attributes, "An attribute")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  check_app->add_flag(
      "!--no-gradient", check_command.gradient,
      "Do not compare the gradient with finite differences: it is not meant to be the derivative");
  check_app
      ->add_option("--writes", check_command.writes,
                   "An input that the ops write to without declaring it; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  check_app
      ->add_option("--constant", check_command.constants,
                   "An input whose gradient nobody asks for, such as the labels of a loss; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  check_app->add_option("--seed", check_command.seed, "Of the inputs and the random states");
  check_app->add_flag_callback(
      "--asan", [&] { check_command.options.options.debug = "address"; },
      "As --debug=address: AddressSanitizer finds memory errors in CPU code");

  SanitizeCommand sanitize_command;
  CLI::App* sanitize_app = app.add_subcommand("sanitize",
                                              "Runs a program, or a Python script, under NVIDIA's "
                                              "compute-sanitizer, and shows what it finds in kernels: bad "
                                              "memory accesses, or what another tool looks for");
  sanitize_app
      ->add_option(
          "--tool", sanitize_command.tool,
          "memcheck: bad accesses and failed calls; racecheck: races in shared memory; initcheck: reads of "
          "memory that nothing was written to; synccheck: barriers; memcheck by default")
      ->check(CLI::IsMember(std::vector<std::string>{"memcheck", "racecheck", "initcheck", "synccheck"}))
      ->type_name("TOOL");
  sanitize_app->add_flag("--all", sanitize_command.all, "Run it once under each tool");
  sanitize_app->add_flag("--json", sanitize_command.as_json, "The findings as JSON");
  add_compile_options(*sanitize_app, sanitize_command.options);
  sanitize_app->add_option("--with", sanitize_command.with, "A further file of the source")
      ->allow_extra_args(false)
      ->type_name("FILE");
  sanitize_app->prefix_command();

  ShowCommand show_command;
  CLI::App* show_app =
      app.add_subcommand("show", "Shows the code that a source became; without an option, what it has");
  add_compile_options(*show_app, show_command.options);
  show_app->remove_option(show_app->get_option("--ptx"));
  show_app->add_option("FILE", show_command.file, "A source, or a library built ahead of time")->required();
  show_app->add_option("NAME", show_command.names,
                       "Parts of the names of functions or kernels; all without any");
  show_app->add_flag("--ptx", show_command.ptx, "The kernels' PTX");
  show_app->add_flag("--sass", show_command.sass, "The kernels' machine code, by nvdisasm");
  show_app->add_flag("--asm", show_command.assembly,
                     "The functions' machine code, by objdump, with their lines if the code keeps them");
  show_app->add_flag("--ir", show_command.ir,
                     "The functions in LLVM's IR, after optimisation; with -O0 or --dev as Clang wrote them");
  show_app->add_flag("--regs", show_command.registers, "The kernels' registers and memory");

  BenchCommand bench_command;
  CLI::App* bench_app = app.add_subcommand("bench", "Times a function or an op");
  add_compile_options(*bench_app, bench_command.options);
  bench_app->add_option("FILE", bench_command.file, "A source, or a library built ahead of time")->required();
  bench_app->add_option("NAME", bench_command.what, "A function or an op");
  bench_app->add_option(
      "ARGUMENT", bench_command.arguments,
      "5, 0.5, true, none, a text, [1,2,3], float32[64,128]; of an op tensors and NAME=VALUE");
  bench_app->add_option("--device", bench_command.device, "Where the tensors are; otherwise where it runs")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "gpu"}));

  const std::vector<std::string> kinds{"op"};
  const auto is_kind = [&](const std::string& word) {
    if (std::ranges::find(kinds, word) != kinds.end()) return std::string();
    const std::string near = nearest(word, kinds);
    return "'" + word + "' is nothing to begin with; " +
           (near.empty() ? "there is 'op'" : "did you mean '" + near + "'?");
  };
  std::string new_kind, new_name, new_folder;
  CLI::App* new_app = app.add_subcommand("new", "Writes a folder to begin with: tarsia new op NAME");
  new_app->add_option("WHAT", new_kind, "What to begin: op")->required()->check(is_kind);
  new_app->add_option("NAME", new_name, "Its name")->required();
  new_app->add_option("--folder", new_folder, "Where; otherwise the name");
  bool new_class = false;
  new_app->add_flag("--class", new_class,
                    "An op with a state: a class, of which each bound op has an object");

  // Python's own parsers read what follows.
  CLI::App* repl_app =
      app.add_subcommand("repl", "A prompt: C++ and CUDA are typed, compiled and run cell by cell");
  app.add_subcommand("jupyter", "Makes the kernel of notebooks known to Jupyter: tarsia jupyter install");

  CacheCommand cache_command;
  CLI::App* explain_app = add_cache(app, cache_command);
  CLI::App* cache_app = explain_app->get_parent();

  ServeCommand serve_command;
  CLI::App* serve_app =
      app.add_subcommand("serve",
                         "Keeps compilers warm for all processes of this user that have the socket's "
                         "path in TARSIA_SERVICE; until SIGINT or SIGTERM");
  serve_app->add_option("--socket", serve_command.socket, "The Unix socket to make")
      ->required()
      ->type_name("PATH");
  serve_app->add_option("--workers", serve_command.workers, "Compilers; otherwise one for each core");
  serve_app->add_option("--per-client", serve_command.per_client,
                        "Compilers that one process has at a time; otherwise all");
  serve_app->add_option("--queue", serve_command.queue,
                        "Requests that wait, beyond which processes are told that it is busy; 64 by default");
  serve_app->add_flag("--metrics", serve_command.metrics,
                      "Serve nothing: print the figures of the service at the socket, in Prometheus's text");

  bool as_json = false;
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "Tells what is found or missing on this machine and what to do about it");
  doctor_app->add_flag("--json", as_json, "As JSON");

  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && !words[0].starts_with('-')) {
    const std::vector<CLI::App*> all = app.get_subcommands(nullptr);
    const auto found = std::ranges::find(all, words[0], [](const CLI::App* one) { return one->get_name(); });
    CLI::App* const command = found == all.end() ? nullptr : *found;
    if (!command) return refuse_command(app, words[0]);
    if (words[0] == "repl") return run_in_python("repl", words_for_repl(*repl_app, std::move(words)));
    if (words[0] == "jupyter") return run_in_python("jupyter", {words.begin() + 1, words.end()});
    // The options of a compile belong to the second word of `cache explain`.
    const bool explains = command == cache_app && words.size() > 1 && words[1] == "explain";
    const std::ptrdiff_t n_words = explains ? 2 : 1;
    if (command == pack_app)
      if (const auto mark = std::ranges::find(words, "--"); mark != words.end()) {
        pack_command.arguments.assign(mark + 1, words.end());
        words.erase(mark, words.end());
      }
    std::vector<std::string> rest =
        in_own_spelling(explains ? *explain_app : *command, {words.begin() + n_words, words.end()},
                        command == run_app || command == sanitize_app);
    if (command == bench_app)  // CLI11 takes lists in brackets apart
      for (std::string& word : rest)
        if (word.starts_with('[')) word.insert(0, "list:");
    words.resize(static_cast<std::size_t>(n_words));
    words.insert(words.end(), rest.begin(), rest.end());
  }
  try {
    const std::vector<std::string> given = words;
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
    if (*run_app) take_file(*run_app, run_command);
    if (*sanitize_app) {
      take_file(*sanitize_app, sanitize_command);
      const std::size_t n_behind = sanitize_app->remaining().size();
      sanitize_command.run_words =
          options_of_run({given.begin() + 1, given.end() - std::ptrdiff_t(n_behind)});
    }
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !used.empty())
      if (const std::string text = suggested_option(*used.back(), used.front()->remaining(true));
          !text.empty()) {
        print_error(text);
        return k_usage;
      }
    return app.exit(error) == 0 ? k_done : k_usage;
  }
  if (*run_app) start_again_for_sanitizer(run_command.options, argv);
  if (*check_app) start_again_for_sanitizer(check_command.options, argv);
  if (*bench_app) start_again_for_sanitizer(bench_command.options, argv);
  if (*run_app) return run(run_command);
  if (*serve_app) return serve(serve_command);
  if (*compile_app) return compile(compile_command);
  if (*pack_app) return pack(pack_command);
  if (*check_app) return check(check_command);
  if (*sanitize_app) return sanitize(sanitize_command);
  if (*show_app) return show(show_command);
  if (*bench_app) return bench(bench_command);
  if (*new_app) return new_op(new_name, new_folder, new_class);
  if (*cache_app) return cache(cache_command);
  return doctor(as_json);
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
