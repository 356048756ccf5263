// The command `tarsia cache`: what the cache holds, and removing from it.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/commands.h"
#include "tools/opening.h"
#include "tools/report.h"
#include "tools/sources.h"

namespace tarsia::tools {
namespace {

using Json = nlohmann::json;

/// Throws what went wrong as libtarsia tells it.
Json taken(int32_t code, char* text) {
  if (code != 0) throw std::runtime_error(tarsia_last_error()->message);
  Json json = Json::parse(text);
  tarsia_free(text);
  return json;
}

template <class Call>
Json asked(Call&& call) {
  char* text = nullptr;
  const int32_t code = call(&text);
  return taken(code, text);
}

std::string size_text(std::uint64_t bytes) {
  char text[32];
  if (bytes < 10000)
    std::snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
  else if (bytes < 10000 * 1024ull)
    std::snprintf(text, sizeof text, "%llu KiB", static_cast<unsigned long long>(bytes >> 10));
  else
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

/// How long ago it was; clocks that differ give "now".
std::string age_text(std::int64_t when) {
  const std::int64_t age = std::max<std::int64_t>(std::time(nullptr) - when, 0);
  if (age < 60) return "now";
  if (age < 3600) return std::to_string(age / 60) + " min ago";
  if (age < 2 * 86400) return std::to_string(age / 3600) + " h ago";
  return std::to_string(age / 86400) + " days ago";
}

std::string short_key(const Json& key) {
  return key.is_string() ? key.get<std::string>().substr(0, 12) : std::string();
}

std::uint64_t number(const Json& json, const char* name) {
  return json.at(name).get<std::uint64_t>();
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void print_group(const Json& report, const char* group) {
  std::uint64_t sum = 0;
  std::string parts;
  for (const auto& [name, value] : report.at(group).items()) {
    const auto n = value.get<std::uint64_t>();
    sum += n;
    if (n) parts += (parts.empty() ? " (" : ", ") + name + " " + std::to_string(n);
  }
  if (!parts.empty()) parts += ')';
  std::printf("%-10s %llu%s\n", group, static_cast<unsigned long long>(sum), parts.c_str());
}

void print_prometheus() {
  char* text = nullptr;
  if (tarsia_cache_prometheus(&text) != 0) throw std::runtime_error(tarsia_last_error()->message);
  std::fputs(text, stdout);
  tarsia_free(text);
}

int stats(const CacheCommand& command) {
  if (command.as_prometheus) {
    print_prometheus();
    return k_done;
  }
  const Json report = asked(&tarsia_cache_stats);
  if (command.as_json) {
    print_json(report);
    return k_done;
  }
  const std::uint64_t most = number(report, "max_bytes");
  std::printf("folder     %s\n", report.at("folder").get<std::string>().c_str());
  std::printf("entries    %llu\n", static_cast<unsigned long long>(number(report, "entries")));
  std::printf("bytes      %s of %s\n", size_text(number(report, "bytes")).c_str(),
              most ? size_text(most).c_str() : "any");
  for (const auto& [name, of] : report.at("kinds").items())
    std::printf("  %-8s %llu, %s\n", name.c_str(), static_cast<unsigned long long>(number(of, "files")),
                size_text(number(of, "bytes")).c_str());
  print_group(report, "hits");
  print_group(report, "misses");
  const Json& remote = report.at("remote");
  if (std::ranges::any_of(remote, [](const Json& n) { return n != 0; }))
    for (const auto& [name, n] : remote.items())
      std::printf("remote %-8s %llu\n", name.c_str(),
                  static_cast<unsigned long long>(n.get<std::uint64_t>()));
  std::printf("compiles   %llu, and %llu that failed, in %.2f s\n",
              static_cast<unsigned long long>(number(report, "compiles")),
              static_cast<unsigned long long>(number(report, "compile_failures")),
              report.at("compile_seconds").at("sum").get<double>());
  if (const std::uint64_t failures = number(report, "store_failures"))
    std::printf("not kept   %llu entries: the folder could not take them\n",
                static_cast<unsigned long long>(failures));
  if (const auto since = report.at("since").get<std::int64_t>())
    std::printf("counted since %s\n", age_text(since).c_str());
  return k_done;
}

int ls(bool as_json) {
  const Json entries = asked(&tarsia_cache_list);
  if (as_json) {
    print_json(entries);
    return k_done;
  }
  if (entries.empty()) {
    std::printf("the cache has no entries\n");
    return k_done;
  }
  std::printf("%-12s %10s  %-12s %6s  library\n", "key", "size", "used", "files");
  for (const Json& entry : entries)
    std::printf("%-12s %10s  %-12s %6llu  %s\n", short_key(entry.at("key")).c_str(),
                size_text(number(entry, "bytes")).c_str(),
                age_text(entry.at("used").get<std::int64_t>()).c_str(),
                static_cast<unsigned long long>(number(entry, "files")), entry.value("library", "?").c_str());
  return k_done;
}

int show_entry(const std::string& key, bool as_json) {
  const Json entry = asked([&](char** text) { return tarsia_cache_show(key.c_str(), text); });
  if (as_json) {
    print_json(entry);
    return k_done;
  }
  std::printf("key       %s\n", entry.at("key").get<std::string>().c_str());
  std::printf("library   %s\n", entry.value("library", "?").c_str());
  std::printf("path      %s\n", entry.at("path").get<std::string>().c_str());
  std::printf("size      %s\n", size_text(number(entry, "bytes")).c_str());
  std::printf("used      %s\n", age_text(entry.at("used").get<std::int64_t>()).c_str());
  if (entry.contains("compiled"))
    std::printf("compiled  %s\n", age_text(entry.at("compiled").get<std::int64_t>()).c_str());
  std::printf("\ninputs\n");
  if (entry.at("inputs").empty()) std::printf("  they are not kept any more\n");
  for (const Json& input : entry.at("inputs"))
    if (const auto shown = input.at("shown").get<std::string>(); !shown.empty())
      std::printf("  %s: %s\n", input.at("name").get<std::string>().c_str(), shown.c_str());
  std::printf("\nfiles\n");
  if (entry.at("files").empty()) std::printf("  it was compiled from none but those of the source\n");
  for (const Json& file : entry.at("files"))
    std::printf("  %s: %s\n", file.at("path").get<std::string>().c_str(),
                file.at("state").get<std::string>().c_str());
  return k_done;
}

void print_damage(const Json& list, const char* what) {
  for (const Json& one : list)
    std::printf("%s%s %s: %s\n", what, one.at("removed").get<bool>() ? ", removed:" : ":",
                one.at("path").get<std::string>().c_str(), one.at("why").get<std::string>().c_str());
}

int verify(bool remove, bool as_json) {
  const Json report = asked([&](char** text) { return tarsia_cache_verify(remove, text); });
  const Json& damaged = report.at("damaged");
  if (as_json) {
    print_json(report);
  } else {
    print_damage(damaged, "damaged");
    print_damage(report.at("unread"), "unread");
    std::printf("%llu entries are whole, %zu damaged\n",
                static_cast<unsigned long long>(number(report, "whole")), damaged.size());
  }
  const bool left = std::ranges::any_of(damaged, [](const Json& one) { return !one.at("removed"); });
  return left || !report.at("unread").empty() ? k_failed : k_done;
}

/// "500M", "2G", "0", "1048576": bytes, KiB, MiB or GiB.
std::uint64_t parse_size(const std::string& text) {
  std::size_t used = 0;
  unsigned long long n = 0;
  try {
    if (!text.empty() && text[0] >= '0' && text[0] <= '9') n = std::stoull(text, &used);
  } catch (const std::out_of_range&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  int shift = -1;
  if (used && (unit.empty() || unit == "B")) shift = 0;
  if (used && (unit == "K" || unit == "KiB")) shift = 10;
  if (used && (unit == "M" || unit == "MiB")) shift = 20;
  if (used && (unit == "G" || unit == "GiB")) shift = 30;
  if (shift < 0 || n > (~0ull >> shift))
    throw std::runtime_error(
        "--max-size takes a size such as 500M or 2G (K, M, G: 1024, 1024², 1024³ bytes), not '" + text + "'");
  return n << shift;
}

int prune(std::uint64_t most, bool as_json) {
  const Json report = asked([&](char** text) { return tarsia_cache_prune(most, text); });
  if (as_json) {
    print_json(report);
    return k_done;
  }
  std::printf("%llu files went, %s are left\n", static_cast<unsigned long long>(number(report, "removed")),
              size_text(number(report, "bytes")).c_str());
  if (const std::uint64_t kept = number(report, "in_use"))
    std::printf("%llu stay, since a process has them open\n", static_cast<unsigned long long>(kept));
  return k_done;
}

void print_left_out(const Json& report) {
  if (const std::uint64_t n = number(report, "revoked"))
    std::fprintf(
        stderr,
        "tarsia: warning: %llu modules are left out, since the key of one who signed them is revoked\n",
        static_cast<unsigned long long>(n));
}

int export_pack(const std::string& path, bool as_json) {
  const Json report = asked([&](char** text) { return tarsia_cache_export(path.c_str(), text); });
  if (as_json)
    print_json(report);
  else
    std::printf("%llu modules are in %s, %s\n", static_cast<unsigned long long>(number(report, "modules")),
                path.c_str(), size_text(number(report, "bytes")).c_str());
  print_left_out(report);
  return k_done;
}

int import_pack(const std::string& path, bool as_json) {
  const Json report = asked([&](char** text) { return tarsia_cache_import(path.c_str(), text); });
  if (as_json)
    print_json(report);
  else
    std::printf("%llu modules came from %s; %llu of them were there\n",
                static_cast<unsigned long long>(number(report, "modules")), path.c_str(),
                static_cast<unsigned long long>(number(report, "known")));
  print_left_out(report);
  return k_done;
}

int make_keys(const std::string& path, bool as_json) {
  if (tarsia_cache_keygen(path.c_str()) != 0) throw std::runtime_error(tarsia_last_error()->message);
  if (as_json)
    print_json({{"signing_key", path}, {"public_key", path + ".pub"}});
  else
    std::printf(
        "%s signs what this machine puts into a shared store (TARSIA_SIGN_KEY): let nobody else read it\n"
        "%s.pub goes to the machines that take it from there (TARSIA_TRUST)\n",
        path.c_str(), path.c_str());
  return k_done;
}

/// Asks about the files under other names, too: the command calls a file by its path, Python by the last part
/// of that, and a string has no name. The answer with a hit, else that with the fewest differences.
Json explain_source(const CacheCommand& command, const Sources& sources) {
  const Options options = options_for(sources, command.options, "");
  std::vector<tarsia_file> files = sources.files();
  const auto ask = [&] {
    return asked([&](char** text) {
      const detail::CompileRequest request(options, files);
      return tarsia_cache_explain(request.files(), request.n_files(), request.options(), text);
    });
  };
  Json best = ask();
  const auto ask_again = [&] {
    if (best.at("hit").get<bool>()) return;
    Json other = ask();
    const std::size_t n = best.at("differences").size(), m = other.at("differences").size();
    if (other.at("hit").get<bool>() ||
        (!other.at("nearest").is_null() && (best.at("nearest").is_null() || m < n)))
      best = std::move(other);
  };
  if (files.size() != 1) return best;
  const std::string name = files[0].name;
  const std::string last = name.substr(name.rfind('/') + 1);
  if (last != name) {
    files[0].name = last.c_str();
    ask_again();
  }
  files[0].name = nullptr;
  ask_again();
  return best;
}

int explain(const CacheCommand& command) {
  const Sources sources(command.arguments);
  Options uncompiled;  // nothing here compiles with the options, so their names are all asked for
  uncompiled.name = command.arguments[0];
  if (int exit = k_done; !knows_warnings(command.options, uncompiled, exit)) return exit;
  const Json told = explain_source(command, sources);
  const int exit = told.at("reason") == "fault" ? k_failed : k_done;  // as of all others
  if (command.as_json) {
    print_json(told);
    return exit;
  }
  const Json& nearest = told.at("nearest");
  std::string entry;
  if (!nearest.is_null()) {
    entry = short_key(nearest.at("key"));
    if (nearest.contains("library")) {
      entry += " of " + nearest.at("library").get<std::string>();
      entry += ", compiled " + age_text(nearest.at("compiled").get<std::int64_t>());
    }
  }
  const std::string head = command.arguments[0] + " [" + short_key(told.at("request")) + "]";
  if (told.at("hit").get<bool>()) {
    std::printf("%s hits the entry %s", head.c_str(), entry.c_str());
    if (const std::uint64_t files = number(told, "files"))
      std::printf("; the %llu files that it was compiled from are unchanged",
                  static_cast<unsigned long long>(files));
    std::printf("\n");
    return k_done;
  }
  std::printf("%s is not in the cache: %s\n", head.c_str(), told.at("reason").get<std::string>().c_str());
  if (nearest.is_null() && told.at("differences").empty()) {
    std::printf("no entry is of a source with these files or texts\n");
    return k_done;
  }
  if (!nearest.is_null()) std::printf("the nearest entry is %s; what differs:\n", entry.c_str());
  for (const auto& [root, path] : told.at("roots").items())
    for (const Json& one : told.at("differences"))
      if (one.at("input").get<std::string>().starts_with(root)) {
        std::printf("  (%s is %s)\n", root.c_str(), path.get<std::string>().c_str());
        break;
      }
  for (const Json& one : told.at("differences"))
    std::printf("  %s: %s\n", sources.shown(one.at("input").get<std::string>()).c_str(),
                one.at("how").get<std::string>().c_str());
  return exit;
}

}  // namespace

int cache(const CacheCommand& command) {
  using Action = CacheCommand::Action;
  switch (command.action) {
    case Action::stats:
      return stats(command);
    case Action::ls:
      return ls(command.as_json);
    case Action::show:
      return show_entry(command.arguments.at(0), command.as_json);
    case Action::verify:
      return verify(command.remove, command.as_json);
    case Action::prune:
      return prune(parse_size(command.max_size), command.as_json);
    case Action::clear:
      return prune(0, command.as_json);
    case Action::export_pack:
      return export_pack(command.arguments.at(0), command.as_json);
    case Action::import_pack:
      return import_pack(command.arguments.at(0), command.as_json);
    case Action::keygen:
      return make_keys(command.arguments.at(0), command.as_json);
    case Action::explain:
      break;
  }
  return explain(command);
}

}  // namespace tarsia::tools
