// ByteReader: reads a value piece by piece; and functions that write such pieces.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>

#include <semel/admin/records.h>
#include <semel/bytes.h>

#include "core/failure.h"

namespace semel::redis {

[[noreturn]] inline void damaged() {
  core::fail({ErrorKind::kRejected, "R202",
              "under the name of a record stands something that is none",
              "give Semel a prefix or a database number of its own"});
}

// Throws core::Failure (R202) where a number or a field of fixed size is cut off.
class ByteReader {
 public:
  explicit ByteReader(BytesView bytes) : rest_(bytes) {}

  BytesView bytes(std::size_t count) {
    const BytesView part = rest_.substr(0, count);
    rest_.remove_prefix(part.size());
    return part;
  }
  std::uint64_t number(std::size_t size) {
    if (rest_.size() < size) damaged();
    std::uint64_t value = 0;
    for (const char byte : bytes(size)) value = value << 8U | static_cast<unsigned char>(byte);
    return value;
  }
  StoreTime time() { return StoreTime(std::chrono::milliseconds(number(6))); }
  template <class Array>
  void fill(Array& array) {
    const BytesView part = bytes(array.size());
    if (part.size() != array.size()) damaged();
    std::memcpy(array.data(), part.data(), part.size());
  }
  std::string sized() { return std::string(bytes(number(4))); }
  // A sized part that must be complete.
  BytesView whole_part() {
    const std::uint64_t size = number(4);
    if (rest_.size() < size) damaged();
    return bytes(size);
  }
  bool empty() const noexcept { return rest_.empty(); }
  Bytes rest() { return Bytes(rest_); }

 private:
  BytesView rest_;
};

// Appends `number` big-endian, in `size` bytes.
inline void append_number(Bytes& out, std::uint64_t number, std::size_t size) {
  for (std::size_t i = size; i > 0; --i) out += static_cast<char>(number >> 8U * (i - 1));
}

// Appends the part, after its size.
inline void append_sized(Bytes& out, BytesView part) {
  append_number(out, part.size(), 4);
  out += part;
}

}  // namespace semel::redis
