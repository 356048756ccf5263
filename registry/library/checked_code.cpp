// The adapters that stand before a checked function or pass.
#include "registry/library/checked_code.h"

#include <array>
#include <optional>

#include "base/error.h"
#include "registry/library/library.h"
#include "registry/library/output_canary.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

std::string findings(TakeFindings take, const std::string& who) {
  std::array<char, 4096> text;
  const std::int32_t n = take(text.data(), text.size(), 1);
  if (!n) return {};
  std::string message = who + ": undefined behaviour: " + text.data();
  if (message.find('\n') == message.npos && n > 1) message += " (" + std::to_string(n) + " times)";
  return message;
}

std::int32_t CheckedCode::tell(const std::string& who, std::int32_t code) const noexcept {
  const std::int32_t reported = guarded([&] {
    if (std::string message = findings(m_take, who); !message.empty()) {
      if (code) message += "\nthe code then threw: " + last_error().message;
      throw UndefinedBehaviour(message);
    }
  });
  return reported ? reported : code;
}

// The contexts of calls say which function runs. A program that was built for an older Tarsia has contexts
// that do not.
std::int32_t CheckedCode::call(const tarsia_value* args, std::uint32_t n, tarsia_value* result) {
  const tarsia_call_context* context = *call_slot();
  if (!context || context->size < sizeof *context || !context->function)
    return guarded([] {
      throw Unsupported(
          "this program was built for an older Tarsia, and cannot call code with debug=\"undefined\": build "
          "it again");
    });
  const auto& function = reinterpret_cast<const LibraryFunction&>(*context->function);
  const std::int32_t code = function.checked_call(args, n, result);
  const std::int32_t reported = function.checks->tell(std::string(function.function.name) + "()", code);
  if (reported && !code) drop(*result);
  return reported;
}

std::int32_t CheckedCode::run(void* pass, const tarsia_op_context* context) {
  const auto& [code, op, run, user] = *static_cast<const Pass*>(pass);
  const std::string who = std::string("op '") + (op->name ? op->name : "") + "'";
  std::optional<OutputCanary> canary;
  if (const std::int32_t failed = guarded([&] { canary.emplace(*context); })) return failed;
  const std::int32_t result = code->tell(who, run(user, context));
  if (result) return result;
  return guarded([&] {
    if (const std::string message = canary->unwritten(*op); !message.empty())
      throw UndefinedBehaviour(who + ": " + message + ": its memory is unset");
  });
}

void CheckedCode::add(LibraryFunction& function) {
  function.checks = this;
  function.checked_call = function.function.call;
  function.function.call = call;
}

const tarsia_op* CheckedCode::add(const tarsia_op& op) {
  Op& made =
      m_ops.emplace_back(op, std::vector(op.implementations, op.implementations + op.n_implementations));
  for (tarsia_implementation& implementation : made.implementations) {
    if (!implementation.run) continue;
    implementation.run_user = &m_passes.emplace_back(this, &op, implementation.run, implementation.run_user);
    implementation.run = run;
  }
  made.op.implementations = made.implementations.data();
  return &made.op;
}

void CheckedCode::check_loading() const {
  if (const std::string message = findings(m_take, m_library + ", while it was loaded"); !message.empty())
    throw UndefinedBehaviour(message);
}

}  // namespace tarsia::registry
