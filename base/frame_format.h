// What libtarsia sends to `tarsia-compiler --frames` when a program crashes: items in the machine's byte
// order, to the end of the stream. Both are of one build. The program writes lines of text to its standard
// output, and exits with 0 if it wrote all.
#pragma once

#include <cstdint>

namespace tarsia {

inline constexpr const char* k_frames_option = "--frames";

struct FrameItem {
  enum Kind : std::uint32_t {
    module,    ///< `number`: where its address 0 lies. Its name and its file follow
    loading,   ///< a module that is being mapped; `number`: its file's inode. Its name and its file follow
    mappings,  ///< a piece of /proc/PID/maps follows
    frame,     ///< `number`: its address; `is_exact`: that of an instruction, otherwise that behind a call
    left_out,  ///< `number` of frames
    origin,    ///< where a text of the module before it stands in another file: a TextOrigin. Its name, and
               ///< then the file's name, a zero and the lines follow
  } kind;
  std::uint32_t is_exact;
  std::uint64_t number;
  std::uint64_t n_name;   ///< bytes that follow
  std::uint64_t n_bytes;  ///< bytes that follow those
};

}  // namespace tarsia
