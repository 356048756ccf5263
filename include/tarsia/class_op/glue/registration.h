// How properties are registered. Inline sources are linked with the rest of the glue (support.h).
#pragma once

#include <tarsia/class_op/glue/support.h>

#if defined(TARSIA_DETAIL_GLUE_IS_LINKED)
#include <cctype>
#include <cmath>
#include <deque>
#include <memory>
#include <set>

#pragma GCC visibility push(hidden)
namespace mxnet {
namespace tarsia_detail {

/// The registrations of this library, in their order.
std::vector<OperatorPropertyReg*>& registered();
/// Registers a property. `location` is the place in the source, for messages.
OperatorPropertyReg& register_property(const char* name, const char* location, bool has_gpu);
/// Registers a property under another name, too. Throws dmlc::Error if the first name is unknown.
void add_alias(const std::string& name, const std::string& alias);

}  // namespace tarsia_detail
}  // namespace mxnet
#pragma GCC visibility pop
#else
#include <tarsia/class_op/glue/class_op.h>
#endif
