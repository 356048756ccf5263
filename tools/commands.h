// The subcommands: a function for each word that may follow `tarsia`. They return the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/options.h"

namespace tarsia::tools {

struct RunCommand {
  CompileOptions options;
  std::vector<std::string> with;       ///< further files of the source
  std::string file;                    ///< a source, or a library built ahead of time
  std::vector<std::string> arguments;  ///< for its main
};
int run(const RunCommand& command);

struct CompileCommand {
  CompileOptions options;
  std::vector<std::string> files;
  std::string output;
};
int compile(const CompileCommand& command);

struct PackCommand {
  CompileOptions options;              ///< the architectures are compiled for one by one
  std::vector<std::string> files;      ///< sources; or a Python script
  std::vector<std::string> arguments;  ///< for the script
  std::string output;
};
int pack(const PackCommand& command);

struct CheckCommand {
  CompileOptions options;
  std::string file;                     ///< a source, or a library built ahead of time
  std::vector<std::string> ops;         ///< none: all
  std::string shapes, dtypes;           ///< "3,4;4,5" and "float32;int64"
  std::vector<std::string> attributes;  ///< "NAME=VALUE"
  std::vector<std::string> writes;      ///< names of inputs
  std::vector<std::string> constants;   ///< names of inputs
  bool gradient = true;
  uint64_t seed = 0;
};
int check(const CheckCommand& command);

struct SanitizeCommand {
  CompileOptions options;
  std::vector<std::string> with;       ///< further files of the source
  std::vector<std::string> run_words;  ///< the options of `tarsia run` as they were given
  std::string tool = "memcheck";
  bool all = false;
  bool as_json = false;
  std::string file;                    ///< a source with a main, or such a library, or a Python script
  std::vector<std::string> arguments;  ///< for it

  bool is_script() const { return file.ends_with(".py"); }
};
int sanitize(const SanitizeCommand& command);

struct ShowCommand {
  CompileOptions options;
  std::string file;                ///< a source, or a library built ahead of time
  std::vector<std::string> names;  ///< parts of names of functions or kernels; none: all
  bool ptx = false, sass = false, assembly = false, ir = false, registers = false;
};
int show(ShowCommand command);

struct BenchCommand {
  CompileOptions options;
  std::string file;                    ///< a source, or a library built ahead of time
  std::string what;                    ///< a function or an op
  std::vector<std::string> arguments;  ///< "float32[4096]", "int:5", "factor=2"
  std::string device;                  ///< "cpu", "gpu"; "": where it runs
};
int bench(const BenchCommand& command);

struct NewCommand {
  std::string kind;  ///< "op", which is all that there is
  std::string name;
  std::string folder;       ///< "": the name
  bool with_class = false;  ///< the op has a state, an object of a class
};
/// Writes a folder with an op, its test and a README.
int new_op(const NewCommand& command);

/// Lets Python run `tarsia COMMAND` with these words; returns only if it cannot.
int run_in_python(const std::string& command, const std::vector<std::string>& words);

int doctor(bool as_json);

struct CacheCommand {
  enum class Action {
    stats,
    ls,
    show,
    verify,
    prune,
    clear,
    export_pack,
    import_pack,
    keygen,
    explain
  } action = Action::stats;
  CompileOptions options;              ///< of explain
  std::vector<std::string> arguments;  ///< explain: the files of the source; show: the beginning of a key;
                                       ///< export and import: the pack; keygen: the file
  std::string max_size;                ///< of prune
  bool remove = false;                 ///< of verify
  bool as_prometheus = false;          ///< of stats
  bool as_json = false;
};
int cache(const CacheCommand& command);

struct ServeCommand {
  std::string socket;
  unsigned workers = 0, per_client = 0, queue = 0;
  bool metrics = false;
};
int serve(const ServeCommand& command);

}  // namespace tarsia::tools
