// LineBook: what this process knows of the lines that wait in the store.
//
// The answer of a source or the store about a line was true when it was asked. If a message of the
// line had to wait meanwhile, the answer is too old: messages received with it would overtake. So
// each question has a number, and each line remembers the last question that was open when it
// stopped. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>

#include <semel/bytes.h>

namespace semel::core {

class LineBook {
 public:
  using Question = std::uint64_t;

  // Begins a question. The first one is 1.
  Question ask() noexcept { return ++asked_; }

  // A message of the line comes again: the store has it, and all later ones wait behind it.
  void stopped(BytesView line) { lines_[Bytes(line)] = asked_; }
  // The store was found to have rows of the line.
  void held(BytesView line) { lines_.try_emplace(Bytes(line), 0); }
  // The answer to `asked`: the store has none of the line. False where that answer is too old.
  bool free(BytesView line, Question asked);
  // The answer to `asked`: these are all lines that the store has.
  void only(const std::set<Bytes>& lines, Question asked);

  // Whether a message from outside may have to wait behind others.
  bool may_wait(BytesView line) const { return find(line) != lines_.end(); }
  // Whether a message of the line, received with the answer to `asked`, may run.
  bool fresh(BytesView line, Question asked) const;

  std::size_t size() const noexcept { return lines_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Lines = std::unordered_map<Bytes, Question, Hash, std::equal_to<>>;
  Lines::const_iterator find(BytesView line) const { return lines_.find(line); }

  Question asked_ = 0;
  Lines lines_;  // to the last question asked before the line stopped
};

}  // namespace semel::core
