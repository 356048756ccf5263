// The library that needs_gone.cc is linked with and that is not there when it is loaded.
extern "C" int gone_function() {
  return 1;
}
