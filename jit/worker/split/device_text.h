// What is left of a file's text: for the device, and for the host.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "jit/worker/split/split.h"
#include "jit/worker/split/split_items.h"

namespace tarsia::jit {

using Words = std::map<uint32_t, std::string>;  ///< what stands where something longer or shorter stood

/// The text without what the host steps over.
std::string host_text(const SplitFile& file, llvm::StringRef text);

/// The replacement of each byte of the file in the device's text; NUL where the byte stays. `words`: what
/// stands, besides.
std::string mask(const SplitFile& file, llvm::StringRef text, Words& words);

/// The text under a mask, at its lines and columns, with the host's answers and names of headers. `files`
/// are the inclusions of the one file, as they were recorded, and the conditions that mean the same on both
/// sides.
struct Inclusion {
  const TokenRecorder::File* recorded = nullptr;
  Ranges conditions;  ///< [first, last) bytes behind the "#"
};
std::string text_under(const std::string& mask, llvm::StringRef text, const std::vector<Inclusion>& files,
                       Words& words);

/// Puts each of the words where its place is; blanks behind it make room, the rest of the line moves.
void put_words(std::string& text, const Words& words, std::vector<Doubt>& doubts);

}  // namespace tarsia::jit
