#include "base/json_mask.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/json_scan.h"

namespace semel::json {

namespace {

constexpr std::string_view kAny = "*";

// Steps through validated text and copies it, except the values that the pointers name. The depth
// is bounded by validate().
class Masker {
 public:
  explicit Masker(std::string_view text) noexcept : scan_(text), copied_(text.data()) {}

  // `live`: the pointers whose first `depth` parts led here.
  void value(const std::vector<const Pointer*>& live, std::size_t depth) {
    const bool named = std::ranges::any_of(
        live, [depth](const Pointer* one) { return one->parts().size() == depth; });
    if (named) {
      copy();
      scan_.skip_value();
      copied_ = scan_.at();
      out_ += kHidden;
    } else if (live.empty() || (scan_.peek() != '{' && scan_.peek() != '[')) {
      scan_.skip_value();
    } else if (scan_.peek() == '{') {
      members(live, depth);
    } else {
      elements(live, depth);
    }
  }

  std::string take(std::string_view text) {
    out_.append(copied_, static_cast<std::size_t>(text.data() + text.size() - copied_));
    return std::move(out_);
  }

 private:
  void copy() { out_.append(copied_, static_cast<std::size_t>(scan_.at() - copied_)); }

  static std::vector<const Pointer*> below(const std::vector<const Pointer*>& live,
                                           std::size_t depth, std::string_view name) {
    std::vector<const Pointer*> left;
    for (const Pointer* one : live) {
      const std::string& part = one->parts()[depth];
      if (part == name || part == kAny) left.push_back(one);
    }
    return left;
  }

  void members(const std::vector<const Pointer*>& live, std::size_t depth) {
    step();
    while (scan_.peek() != '}') {
      const RawString raw = scan_.raw_string();
      const std::string name = raw.escaped ? unescape(raw.text) : std::string(raw.text);
      scan_.skip_space();
      step();
      value(below(live, depth, name), depth + 1);
      scan_.skip_space();
      if (scan_.peek() == ',') step();
    }
    scan_.step();
  }

  void elements(const std::vector<const Pointer*>& live, std::size_t depth) {
    step();
    for (std::size_t i = 0; scan_.peek() != ']'; ++i) {
      value(below(live, depth, std::to_string(i)), depth + 1);
      scan_.skip_space();
      if (scan_.peek() == ',') step();
    }
    scan_.step();
  }

  void step() noexcept {
    scan_.step();
    scan_.skip_space();
  }

  Scan scan_;
  const char* copied_;  // the text before it is in `out_`, or hidden
  std::string out_;
};

}  // namespace

std::optional<std::string> masked(std::string_view text, std::span<const Pointer> pointers) {
  if (!validate(text)) return std::nullopt;
  std::vector<const Pointer*> live;
  for (const Pointer& pointer : pointers) live.push_back(&pointer);
  Masker masker(text);
  masker.value(live, 0);
  return masker.take(text);
}

}  // namespace semel::json
