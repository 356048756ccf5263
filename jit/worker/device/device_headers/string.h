// memcpy and memset are NVRTC's own; the rest is as simple as it can be.
#pragma once
__host__ __device__ inline int memcmp(const void* a, const void* b, size_t n) {
  const unsigned char *x = (const unsigned char*)a, *y = (const unsigned char*)b;
  for (size_t i = 0; i < n; ++i)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
__host__ __device__ inline void* memmove(void* to, const void* from, size_t n) {
  char* d = (char*)to;
  const char* s = (const char*)from;
  if (d < s)
    for (size_t i = 0; i < n; ++i) d[i] = s[i];
  else
    for (size_t i = n; i-- > 0;) d[i] = s[i];
  return to;
}
__host__ __device__ inline size_t strlen(const char* s) {
  size_t n = 0;
  while (s[n]) ++n;
  return n;
}
__host__ __device__ inline int strcmp(const char* a, const char* b) {
  for (; *a && *a == *b; ++a) ++b;
  return (int)(unsigned char)*a - (int)(unsigned char)*b;
}
__host__ __device__ inline int strncmp(const char* a, const char* b, size_t n) {
  for (; n && *a && *a == *b; ++a, ++b) --n;
  return n ? (int)(unsigned char)*a - (int)(unsigned char)*b : 0;
}
__host__ __device__ inline char* strcpy(char* to, const char* from) {
  char* d = to;
  while ((*d++ = *from++)) {
  }
  return to;
}
__host__ __device__ inline char* strncpy(char* to, const char* from, size_t n) {
  size_t i = 0;
  for (; i < n && from[i]; ++i) to[i] = from[i];
  for (; i < n; ++i) to[i] = 0;
  return to;
}
