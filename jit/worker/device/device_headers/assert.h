// assert is NVRTC's own; it may be switched off and on again by including this with and without NDEBUG.
#ifdef NDEBUG
#undef assert
#define assert(condition) ((void)0)
#elif defined(tarsia_assert_was_off)
#undef assert
#define assert(condition) \
  ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, sizeof(char)))
#endif
#ifdef NDEBUG
#define tarsia_assert_was_off
#endif
