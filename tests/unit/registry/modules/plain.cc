// A library that knows nothing of Tarsia.
extern "C" int plain_function() {
  return 1;
}
