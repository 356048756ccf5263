// Decides whether a choice is measured, and what follows from the times.
//
// The usual choice stays unless another implementation is faster by more than noise: then two processes that
// measure anew agree. Times are remembered, not the choice: it follows from them.
#include "registry/measure/measure.h"

#include <tarsia/detail/support.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "registry/measure/measured_times.h"
#include "registry/measure/timing.h"
#include "registry/op/choice.h"

namespace tarsia::registry {

namespace {

constexpr double k_clearly_faster = 0.95;  // of the usual one's time

thread_local tarsia_choice t_choice = TARSIA_CHOICE_OF_PROCESS;

tarsia_choice choice_of_process() {
  const char* text = std::getenv("TARSIA_IMPLEMENTATION");
  if (!text || !*text || !std::strcmp(text, "priority")) return TARSIA_CHOICE_PRIORITY;
  if (!std::strcmp(text, "measure")) return TARSIA_CHOICE_MEASURE;
  throw ArgumentError::value_error(std::string("TARSIA_IMPLEMENTATION is 'priority' or 'measure', not '") +
                                   text + "'");
}

/// What the request asks for; OF_PROCESS if nothing.
tarsia_choice choice_of(const tarsia_op_request& request) {
  if (!TARSIA_DETAIL_HAS_FIELD(request, choice)) return t_choice;
  if (request.choice > TARSIA_CHOICE_MEASURE)
    throw ArgumentError::value_error("there is no choice " + std::to_string(request.choice) +
                                     ": 0 is the process's, 1 by priority, 2 measured");
  return request.choice ? static_cast<tarsia_choice>(request.choice) : t_choice;
}

/// Takes the fastest. `usual` stays unless another is clearly faster.
void decide(Measured& measured, const tarsia_implementation* usual) {
  const MeasuredTime* best = measured.find(*usual);
  if (!best || best->seconds < 0) {
    // What fails is no measure: it may fail for the sake of the elements that it got.
    measured.reason = "the usual one failed: " + (best ? best->failure : std::string("it was not timed"));
    measured.times.clear();
    return;
  }
  double limit = best->seconds * k_clearly_faster;
  for (const MeasuredTime& time : measured.times)
    if (time.seconds >= 0 && time.seconds < limit) {
      best = &time;
      limit = time.seconds;
    }
  measured.implementation = best->implementation;
}

void tell(const tarsia_op& op, tarsia_pass pass, tarsia_device device, const Measured& measured) {
  std::string text;
  for (const MeasuredTime& time : measured.times)
    text += (text.empty() ? "" : ", ") + time.name + " " +
            (time.seconds < 0 ? "failed (" + time.failure + ")" : time_text(time.seconds));
  log().info("op '{}': measured {} on {}: {}", op.name, pass_name(pass), device_text(device), text);
}

MeasuredPasses measure(const Ref<OpEntry>& entry, const tarsia_op_request& request) {
  const tarsia_op& op = entry->op();
  MeasuredPasses passes;
  if (op.n_implementations < 2) return passes;
  const BoundInfo bound(op, request);
  bound.require_complete();
  std::unique_ptr<DenseInfo> dense;
  if (has_sparse(bound)) dense = std::make_unique<DenseInfo>(bound);
  ChoiceOf of{op, bound.info(), dense ? &dense->info() : nullptr, &passes};
  for (const tarsia_pass pass : {TARSIA_FORWARD, TARSIA_BACKWARD}) {
    Measured& measured = passes[pass];
    const std::vector<const tarsia_implementation*> all = candidates(of, pass);
    if (all.size() < 2) continue;
    const tarsia_implementation* usual = choose(of, pass).implementation;
    const tarsia_implementation* forward = choose(of, TARSIA_FORWARD).implementation;
    if (!forward) break;
    const TimesKey key(*entry, bound, all, pass, *forward);
    bool is_new = false;
    if (!find_times(key, all, op, measured)) {
      measured = time_implementations({entry, request, bound, all, pass, forward});
      is_new = !measured.times.empty();
    }
    if (!measured.reason.empty()) {
      log().info("op '{}': {} on {} is not measured: {}", op.name, pass_name(pass),
                 device_text(bound.info().device), measured.reason);
      continue;
    }
    if (is_new) tell(op, pass, bound.info().device, measured);
    decide(measured, usual);
    if (!is_new || !measured.implementation) continue;
    keep_times(key, all, op, measured);
    decide(measured, usual);  // by the times of another thread, if that one was first
  }
  return passes;
}

}  // namespace

ChoiceScope::ChoiceScope(tarsia_choice choice) noexcept : m_before(std::exchange(t_choice, choice)) {}
ChoiceScope::~ChoiceScope() {
  t_choice = m_before;
}

Ref<BoundOp> bind(Ref<OpEntry> entry, const tarsia_op_request& request) {
  const tarsia_choice asked = choice_of(request);
  const bool is_measured =
      (asked == TARSIA_CHOICE_OF_PROCESS ? choice_of_process() : asked) == TARSIA_CHOICE_MEASURE;
  const ChoiceScope scope(asked);
  MeasuredPasses measured;
  if (is_measured) measured = measure(entry, request);
  return Ref<BoundOp>::adopt(new BoundOp(std::move(entry), request, std::move(measured)));
}

std::string explain_bind(const Ref<OpEntry>& entry, const tarsia_op_request& request) {
  const tarsia_choice asked = choice_of(request);
  const bool is_measured =
      (asked == TARSIA_CHOICE_OF_PROCESS ? choice_of_process() : asked) == TARSIA_CHOICE_MEASURE;
  const ChoiceScope scope(asked);
  return explain(entry->op(), request, is_measured ? measure(entry, request) : MeasuredPasses());
}

}  // namespace tarsia::registry
