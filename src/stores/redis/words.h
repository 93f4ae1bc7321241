// Words: the words of a command, in one piece of memory.
//
// A batch has some hundreds of them, most of them short: a string for each would cost more time
// than what is done with them here.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include <semel/bytes.h>

#include "stores/redis/cutter.h"

namespace semel::redis {

// A view that it gives is good until the next word is added.
class Words {
 public:
  Words() = default;
  Words(std::initializer_list<BytesView> words) { append(words); }
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    *this = {};
    for (; first != last; ++first) push_back(*first);
  }

  // Room for more, of so many bytes together.
  void reserve(std::size_t words, std::size_t bytes) {
    ends_.reserve(ends_.size() + words);
    bytes_.reserve(bytes_.size() + bytes);
  }
  void append(std::initializer_list<BytesView> words) {
    for (const BytesView word : words) push_back(word);
  }
  void push_back(BytesView word) {
    bytes_ += word;
    ends_.push_back(bytes_.size());
  }
  void push_back(char letter) { push_back(BytesView(&letter, 1)); }
  // One that `write` appends to the bytes it is given, piece after piece.
  template <class Write>
  void push_written(Write&& write) {
    write(bytes_);
    ends_.push_back(bytes_.size());
  }

  std::size_t size() const noexcept { return ends_.size(); }
  bool empty() const noexcept { return ends_.empty(); }
  std::size_t bytes() const noexcept { return bytes_.size(); }
  BytesView operator[](std::size_t at) const noexcept {
    const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
    return BytesView(bytes_).substr(begin, ends_[at] - begin);
  }
  BytesView at(std::size_t at) const {
    if (at >= size()) throw std::out_of_range("a command has no such word");
    return (*this)[at];
  }
  BytesView front() const { return at(0); }

 private:
  Bytes bytes_;
  std::vector<std::size_t> ends_;
};

}  // namespace semel::redis
