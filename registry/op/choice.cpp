// Among the implementations that apply, the highest priority runs; among equals, the one that was declared
// first. Predicates are the author's code, so only those that may decide are asked.
#include "registry/op/choice.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/log.h"
#include "registry/op/infer.h"
#include "registry/op/op_entry.h"
#include "registry/op/op_step.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

std::int32_t type_of(const tarsia_bind_info& info) {
  return is_gpu(info.device) ? TARSIA_GPU : TARSIA_CPU;
}

bool is_for(const tarsia_implementation& one, std::uint32_t pass, std::int32_t device_type) {
  return one.pass == pass && one.device_type == device_type;
}

bool has_name(const tarsia_implementation& one, const char* name) {
  return !std::strcmp(one.name, name);
}

bool applies(const tarsia_op& op, const tarsia_implementation& one, const tarsia_bind_info& info) {
  if (!one.applies) return true;
  const std::int32_t answer =
      run_step(op, "when", &info, [&] { return one.applies(one.applies_user, &info); });
  if (answer < 0) throw_op_error(op, "when");
  return answer != 0;
}

/// Among equals, an implementation for dense tensors alone is the better one for dense tensors.
bool is_better(const tarsia_implementation& one, const tarsia_implementation& best) {
  if (one.priority != best.priority) return one.priority > best.priority;
  return best.storage_any && !one.storage_any;
}

/// The name that inference chose, if an implementation of the pass for the device has it; else null.
const char* chosen_name(const ChoiceOf& of, tarsia_pass pass) {
  const char* name = of.info.chosen;
  if (!name) return nullptr;
  const std::int32_t type = type_of(of.info);
  for (const tarsia_implementation& one : implementations_of(of.op))
    if (is_for(one, pass, type) && has_name(one, name)) return name;
  if (pass == TARSIA_BACKWARD) return nullptr;
  const std::string others = names_of(of.op, pass, type);
  throw OpError(std::string("op '") + of.op.name + "', inference: chose the implementation '" + name +
                "', and no forward for " + device_name(type == TARSIA_GPU) + " has that name: there " +
                (others.empty()                        ? "is none"
                 : others.find(" and ") == others.npos ? "is " + others
                                                       : "are " + others));
}

/// The best implementation for tensors of the storage types of `info`.
const tarsia_implementation* best_of(const ChoiceOf& of, const tarsia_bind_info& info, tarsia_pass pass,
                                     const char* name) {
  const bool is_sparse = of.dense && &info != of.dense;
  const tarsia_implementation* best = nullptr;
  for (const tarsia_implementation& one : implementations_of(of.op)) {
    if (!is_for(one, pass, type_of(info)) || (name && !has_name(one, name))) continue;
    if (is_sparse && !one.storage_any) continue;
    if (best && !is_better(one, *best)) continue;
    if (name || applies(of.op, one, info)) best = &one;
  }
  return best;
}

/// What was measured of the pass, if that decided; else null.
const Measured* decided(const ChoiceOf& of, tarsia_pass pass) {
  if (!of.measured) return nullptr;
  const Measured& measured = (*of.measured)[pass];
  return measured.implementation ? &measured : nullptr;
}

/// Why an implementation of the pass was not taken.
std::string reason(const ChoiceOf& of, const tarsia_implementation& one, const Choice& choice,
                   const char* name) {
  const bool with_dense = of.dense && (choice.is_dense || !choice.implementation);
  const tarsia_bind_info& info = with_dense ? *of.dense : of.info;
  if (one.device_type != type_of(info))
    return std::string("it is for ") + device_name(one.device_type == TARSIA_GPU);
  if (name && !has_name(one, name)) return "inference chose '" + std::string(name) + "'";
  if (of.dense && !with_dense && !one.storage_any) return "it takes no sparse tensors";
  if (!choice.implementation || (!name && !applies(of.op, one, info))) return "its predicate says no";
  const tarsia_implementation& best = *choice.implementation;
  if (const Measured* measured = decided(of, static_cast<tarsia_pass>(one.pass))) {
    const MeasuredTime *its = measured->find(one), *taken = measured->find(best);
    if (its && its->seconds < 0) return "it failed when it was measured: " + its->failure;
    if (its && taken)
      return "measured: it takes " + time_text(its->seconds) +
             (its->seconds < taken->seconds ? ", too little less than the usual one's "
                                            : ", and the fastest ") +
             time_text(taken->seconds);
  }
  if (one.priority < best.priority)
    return "its priority is " + std::to_string(one.priority) + ", and there is one of " +
           std::to_string(best.priority);
  if (one.storage_any && !best.storage_any) return "it takes sparse tensors, and there is one for dense ones";
  return "it is declared later, with the same priority";
}

}  // namespace

std::string device_text(tarsia_device device) {
  return is_gpu(device) ? "GPU " + std::to_string(device.id) : "the CPU";
}

const char* device_name(bool gpu) {
  return gpu ? "gpu" : "cpu";
}

std::string name_of(const tarsia_op& op, const tarsia_implementation& implementation) {
  if (*implementation.name) return implementation.name;
  int number = 1;
  for (const tarsia_implementation* one = op.implementations; one != &implementation; ++one)
    number += is_for(*one, implementation.pass, implementation.device_type);
  return std::string(device_name(implementation.device_type == TARSIA_GPU)) + " #" + std::to_string(number);
}

std::string names_of(const tarsia_op& op, tarsia_pass pass, std::int32_t device_type) {
  std::vector<std::string> names;
  for (const tarsia_implementation& one : implementations_of(op)) {
    const std::string name = "'" + name_of(op, one) + "'";
    if (is_for(one, pass, device_type ? device_type : one.device_type) &&
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (!i ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string time_text(double seconds) {
  const auto [factor, unit] = seconds < 1e-6   ? std::pair(1e9, " ns")
                              : seconds < 1e-3 ? std::pair(1e6, " us")
                              : seconds < 1    ? std::pair(1e3, " ms")
                                               : std::pair(1.0, " s");
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", seconds * factor);
  return text + std::string(unit);
}

std::vector<const tarsia_implementation*> candidates(const ChoiceOf& of, tarsia_pass pass) {
  std::vector<const tarsia_implementation*> all;
  if (of.info.chosen) return all;
  for (const tarsia_implementation& one : implementations_of(of.op))
    if (is_for(one, pass, type_of(of.info)) && (!of.dense || one.storage_any) && applies(of.op, one, of.info))
      all.push_back(&one);
  return all;
}

Choice choose(const ChoiceOf& of, tarsia_pass pass) {
  const Measured* measured = decided(of, pass);
  const char* name = chosen_name(of, pass);
  Choice choice;
  choice.implementation = measured ? measured->implementation : best_of(of, of.info, pass, name);
  if (!choice.implementation && of.dense) {
    choice.implementation = best_of(of, *of.dense, pass, name);
    choice.is_dense = choice.implementation != nullptr;
  }
  if (choice.implementation)
    log().debug("op '{}': {} on {} by implementation {} of {}{}{}{}{}", of.op.name, pass_name(pass),
                device_name(is_gpu(of.info.device)), choice.implementation - of.op.implementations + 1,
                of.op.n_implementations, *choice.implementation->name ? ", " : "",
                choice.implementation->name,
                name       ? ", which inference chose"
                : measured ? ", measured"
                           : "",
                choice.is_dense ? ", with dense tensors" : "");
  return choice;
}

std::string explain_choice(const ChoiceOf& of, tarsia_pass pass) {
  const char* name = chosen_name(of, pass);
  const Choice choice = choose(of, pass);
  std::string text = std::string(pass_name(pass)) + ": ";
  if (choice.implementation) {
    text += "'" + name_of(of.op, *choice.implementation) + "'";
    if (name) text += ", which inference chose";
    if (const Measured* measured = decided(of, pass))
      text += ", measured: " + time_text(measured->find(*choice.implementation)->seconds);
    else if (of.measured && !(*of.measured)[pass].reason.empty())
      text += ", not measured: " + (*of.measured)[pass].reason;
    if (choice.is_dense) text += ", with its sparse tensors made dense";
  } else {
    text += "none";
  }
  text += "\n";
  for (const tarsia_implementation& one : implementations_of(of.op))
    if (one.pass == static_cast<std::uint32_t>(pass) && &one != choice.implementation)
      text += "  not '" + name_of(of.op, one) + "': " + reason(of, one, choice, name) + "\n";
  return text;
}

}  // namespace tarsia::registry
