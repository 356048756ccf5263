// The command `tarsia`: docs/command.md.
#include <CLI/CLI.hpp>
#include <exception>

#include "tools/commands.h"
#include "tools/report.h"

namespace {

using namespace tarsia::tools;

/// Writes what follows the options of `run`, which takes its file and arguments as they come.
class Formatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = CLI::Formatter::make_usage(app, std::move(name));
    if (app->get_name() == "run") text.insert(text.find_last_not_of('\n') + 1, " FILE [ARGUMENTS...]");
    return text;
  }
};

/// Everything from FILE on is the program's, options too.
void take_file(const CLI::App& app, RunCommand& command) {
  std::vector<std::string> words = app.remaining();
  if (words.empty()) throw CLI::RequiredError("FILE");
  command.file = words.front();
  if (command.file.size() > 1 && command.file.front() == '-')
    throw CLI::ExtrasError("run", {"unknown option " + command.file});
  const bool marked = words.size() > 1 && words[1] == "--";
  command.arguments.assign(words.begin() + (marked ? 2 : 1), words.end());
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
  check_app->add_option("--seed", check_command.seed, "Of the inputs and the random states");
  check_app->add_flag("--asan", check_command.asan,
                      "Build the source with g++ and AddressSanitizer, to find memory errors in CPU code");
  check_app->add_flag("--exact-memory", check_command.exact_memory)->group("");

  bool as_json = false;
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "Tells what is found or missing on this machine and what to do about it");
  doctor_app->add_flag("--json", as_json, "As JSON");

  try {
    app.parse(argc, argv);
    if (*run_app) take_file(*run_app, run_command);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? k_done : k_usage;
  }
  if (*run_app) return run(run_command);
  if (*compile_app) return compile(compile_command);
  if (*check_app) return check(check_command);
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
