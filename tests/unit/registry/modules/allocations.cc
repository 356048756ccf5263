// Ops whose declarations allocate, and a count of what this library holds: at the address that the environment
// variable TARSIA_TEST_ALLOCATIONS names. Linked so that its own operators are used.
#include <array>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include <tarsia/op.h>

namespace {
void count(long n) {
  const char* address = std::getenv("TARSIA_TEST_ALLOCATIONS");
  if (address) *reinterpret_cast<long*>(std::strtoull(address, nullptr, 10)) += n;
}
}  // namespace

void* operator new(std::size_t n) {
  count(1);
  if (void* memory = std::malloc(n ? n : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t n) {
  return operator new(n);
}
void operator delete(void* memory) noexcept {
  if (memory) count(-1);
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  operator delete(memory);
}

TARSIA_OP(test_allocations)
    .attribute("text", "a text")
    .attribute("list", std::vector<int>{1, 2})
    .attribute("texts", std::vector<const char*>{"a", "b"})
    .attribute("lists", std::array<int, 2>{{1, 2}})
    .attribute("pair", std::pair<int, const char*>(1, "b"))
    .attribute("mode", "slow")
    .choices({"slow"})
    .choices({"slow", "fast"})
    .attribute<int>("needed")
    .required()
    .infer([](tarsia::BindInfo&) {})
    .forward("cpu", [](tarsia::Context&) {});
