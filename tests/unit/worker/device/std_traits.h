// What test_device_std.cpp asks of both libraries: libstdc++ compiles this file with the test, and NVRTC
// reads its text.

struct Plain {
  int a;
  float b;
};
struct Virtual {
  int a = 1;
  virtual ~Virtual() {}
  virtual int f() const { return a; }
};
struct Abstract {
  virtual void f() = 0;
};
struct Final final {};
struct Unmovable {
  Unmovable(const Unmovable&) = delete;
  Unmovable& operator=(const Unmovable&) = delete;
};
struct Throwing {
  Throwing() {}
  Throwing(const Throwing&) {}
  Throwing& operator=(Throwing&&) noexcept(false) { return *this; }
  ~Throwing() noexcept(false) {}
};
struct Private {
  int operator()(int) noexcept;
  float operator()(float*);

 private:
  ~Private() = default;
};
enum Old { k_old };
enum class New : short { a };
union Both {
  int a;
  char b[6];
};

template <class T>
constexpr unsigned long long of_kind() {
  constexpr bool all[] = {std::is_void_v<T>,
                          std::is_null_pointer_v<T>,
                          std::is_integral_v<T>,
                          std::is_floating_point_v<T>,
                          std::is_arithmetic_v<T>,
                          std::is_fundamental_v<T>,
                          std::is_scalar_v<T>,
                          std::is_object_v<T>,
                          std::is_compound_v<T>,
                          std::is_signed_v<T>,
                          std::is_unsigned_v<T>,
                          std::is_array_v<T>,
                          std::is_pointer_v<T>,
                          std::is_reference_v<T>,
                          std::is_lvalue_reference_v<T>,
                          std::is_rvalue_reference_v<T>,
                          std::is_const_v<T>,
                          std::is_volatile_v<T>,
                          std::is_enum_v<T>,
                          std::is_union_v<T>,
                          std::is_class_v<T>,
                          std::is_function_v<T>,
                          std::is_member_pointer_v<T>,
                          std::is_member_function_pointer_v<T>,
                          std::is_member_object_pointer_v<T>,
                          std::is_invocable_v<T, int>,
                          std::is_nothrow_invocable_v<T, int>,
                          std::is_invocable_r_v<float*, T, int>,
                          std::is_invocable_r_v<double, T, float*>,
                          std::is_nothrow_invocable_r_v<void, T, int>,
                          std::is_same_v<T, std::remove_cv_t<T>>,
                          std::is_same_v<T, std::decay_t<T>>,
                          std::is_convertible_v<T, int>,
                          std::rank_v<T> == 1,
                          std::extent_v<T> == 3};
  unsigned long long bits = 0;
  for (bool one : all) bits = bits * 2 + one;
  return bits;
}

template <class T>
constexpr unsigned long long of_use() {
  constexpr bool all[] = {std::is_empty_v<T>,
                          std::is_final_v<T>,
                          std::is_abstract_v<T>,
                          std::is_polymorphic_v<T>,
                          std::is_aggregate_v<T>,
                          std::is_standard_layout_v<T>,
                          std::is_trivially_copyable_v<T>,
                          std::has_virtual_destructor_v<T>,
                          std::has_unique_object_representations_v<T>,
                          std::is_destructible_v<T>,
                          std::is_nothrow_destructible_v<T>,
                          std::is_trivially_destructible_v<T>,
                          std::is_default_constructible_v<T>,
                          std::is_nothrow_default_constructible_v<T>,
                          std::is_trivially_default_constructible_v<T>,
                          std::is_copy_constructible_v<T>,
                          std::is_nothrow_copy_constructible_v<T>,
                          std::is_trivially_copy_constructible_v<T>,
                          std::is_move_constructible_v<T>,
                          std::is_nothrow_move_constructible_v<T>,
                          std::is_trivially_move_constructible_v<T>,
                          std::is_copy_assignable_v<T>,
                          std::is_nothrow_copy_assignable_v<T>,
                          std::is_trivially_copy_assignable_v<T>,
                          std::is_move_assignable_v<T>,
                          std::is_nothrow_move_assignable_v<T>,
                          std::is_trivially_move_assignable_v<T>,
                          std::is_constructible_v<T, int>,
                          std::is_nothrow_constructible_v<T, int>,
                          std::is_trivially_constructible_v<T, const int&>,
                          std::is_assignable_v<T&, int>,
                          std::is_nothrow_assignable_v<T&, int>,
                          std::is_trivially_assignable_v<T&, int>};
  unsigned long long bits = 0;
  for (bool one : all) bits = bits * 2 + one;
  return bits;
}
