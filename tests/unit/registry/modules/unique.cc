// Has a symbol that keeps it mapped after dlclose when g++ builds it.
#include <tarsia/op.h>

template <class T>
struct Shared {
  static int value;
};
template <class T>
int Shared<T>::value = 5;
int* unique_value() {
  return &Shared<int>::value;
}

TARSIA_OP(test_unique).forward("cpu", [](tarsia::Context& c) {
  c.output(0).data<float>()[0] = static_cast<float>((*unique_value())++);
});
