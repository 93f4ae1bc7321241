#include "base/json.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "base/json_scan.h"

namespace semel::json {
namespace {

// A buffer that one large document needed is not kept for small ones.
constexpr std::size_t kKeptCapacity = 1 << 20;

Error rejected(std::string message) { return {ErrorKind::kRejected, "", std::move(message), ""}; }

Result<std::string> unescape_token(std::string_view token, std::string_view text) {
  std::string part;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      part += token[i];
    } else if (++i < token.size() && (token[i] == '0' || token[i] == '1')) {
      part += token[i] == '0' ? '~' : '/';
    } else {
      return failure({ErrorKind::kRejected, "",
                      fmt::format("\"{}\" is not a JSON pointer: '~' must be ~0 or ~1", text),
                      "write ~0 for '~' and ~1 for '/'"});
    }
  }
  return part;
}

// The array index that a pointer's part names; nullopt for no index ("-", leading zeros, words).
std::optional<std::size_t> array_index(std::string_view part) noexcept {
  std::size_t index = 0;
  const char* const end = part.data() + part.size();
  const auto [stop, problem] = std::from_chars(part.data(), end, index);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  if (part.size() > 1 && part.front() == '0') return std::nullopt;
  return index;
}

bool names(const RawString& raw, std::string_view part) {
  return raw.escaped ? unescape(raw.text) == part : raw.text == part;
}

struct Member {
  RawString name;
  std::string_view value;
};

// Calls `see` with each member of `object`, until it says false.
template <class See>
void walk(std::string_view object, See see) {
  Scan scan(object);
  scan.step();
  scan.skip_space();
  while (scan.peek() != '}') {
    const RawString name = scan.raw_string();
    scan.skip_space();
    scan.step();
    scan.skip_space();
    if (!see(Member{name, scan.skip_value()})) return;
    scan.skip_space();
    if (scan.peek() == ',') {
      scan.step();
      scan.skip_space();
    }
  }
}

// Searches for one name among members. All must be visited: a second one of the name may be the
// last.
class Search {
 public:
  explicit Search(std::string_view part) : part_(part) {}

  bool operator()(const Member& member) {
    if (!names(member.name, part_)) return true;
    twice_ = found_.has_value();
    found_ = member.value;
    return !twice_;
  }
  Result<std::optional<std::string_view>> answer() const {
    if (!twice_) return found_;
    return failure(rejected(fmt::format("the member \"{}\" stands twice in one object", part_)));
  }

 private:
  std::string_view part_;
  std::optional<std::string_view> found_;
  bool twice_ = false;
};

Result<std::optional<std::string_view>> find_member(std::string_view object,
                                                    std::string_view part) {
  Search search(part);
  walk(object, [&](const Member& member) { return search(member); });
  return search.answer();
}

std::optional<std::string_view> find_element(std::string_view array, std::string_view part) {
  const std::optional<std::size_t> wanted = array_index(part);
  if (!wanted) return std::nullopt;
  Scan scan(array);
  scan.step();
  scan.skip_space();
  for (std::size_t index = 0; scan.peek() != ']'; ++index) {
    const std::string_view value = scan.skip_value();
    if (index == *wanted) return value;
    scan.skip_space();
    if (scan.peek() == ',') {
      scan.step();
      scan.skip_space();
    }
  }
  return std::nullopt;
}

std::string_view without_space(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \n\r\t";
  const std::size_t first = text.find_first_not_of(kSpace);
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

double to_double(std::string_view written) noexcept {
  double value = 0;
  const char* const end = written.data() + written.size();
  if (std::from_chars(written.data(), end, value).ec == std::errc{}) return value;
  // Out of range: too large for any double, or too close to zero.
  const std::size_t exponent = written.find_first_of("eE");
  const bool tiny = exponent != std::string_view::npos
                        ? written.substr(exponent + 1).starts_with('-')
                        : written.find_first_not_of("-0.") > written.find('.');
  if (tiny) return 0;
  const double infinity = std::numeric_limits<double>::infinity();
  return written.front() == '-' ? -infinity : infinity;
}

Scalar number_of(std::string_view written) noexcept {
  if (!is_integer(written)) return Float{to_double(written), written};
  std::int64_t value = 0;
  const char* const end = written.data() + written.size();
  const bool fits = std::from_chars(written.data(), end, value).ec == std::errc{};
  return Integer{written, fits ? std::optional(value) : std::nullopt};
}

Scalar scalar_of(std::string_view value) {
  switch (value.front()) {
    case '{':
    case '[':
      return Composite{value};
    case '"': {
      const std::string_view raw = value.substr(1, value.size() - 2);
      return raw.find('\\') == std::string_view::npos ? std::string(raw) : unescape(raw);
    }
    case 't':
      return true;
    case 'f':
      return false;
    case 'n':
      return JsonNull{};
    default:
      return number_of(value);
  }
}

}  // namespace

Result<Pointer> Pointer::parse(std::string_view text) {
  Pointer pointer;
  pointer.text_ = text;
  if (text.empty()) return pointer;
  if (text.front() != '/') {
    return failure({ErrorKind::kRejected, "",
                    fmt::format("\"{}\" is not a JSON pointer: it must begin with '/'", text),
                    fmt::format("write \"/{}\"", text)});
  }
  for (std::size_t begin = 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    Result<std::string> part = unescape_token(text.substr(begin, end - begin), text);
    if (!part) return failure(std::move(part.error()));
    pointer.parts_.push_back(std::move(*part));
    begin = end + 1;
  }
  return pointer;
}

class Document::Impl {
 public:
  Result<void> parse(BytesView text) {
    good_ = false;
    if (Result<void> valid = validate(text); !valid) return valid;
    parse_known(text);
    return {};
  }

  void parse_known(BytesView text) {
    index_ = Index::kNone;
    if (text_.capacity() > kKeptCapacity && text.size() <= kKeptCapacity) text_ = std::string();
    text_ = text;
    root_ = without_space(text_);
    good_ = true;
  }

  Result<Scalar> at(const Pointer& pointer) {
    if (!good_) return failure(rejected("no JSON document was read"));
    std::string_view value = root_;
    for (const std::string& part : pointer.parts()) {
      std::optional<std::string_view> next;
      if (value.front() == '{') {
        Result<std::optional<std::string_view>> member =
            value.data() == root_.data() ? find_at_root(part) : find_member(value, part);
        if (!member) return failure(std::move(member.error()));
        next = *member;
      } else if (value.front() == '[') {
        next = find_element(value, part);
      }
      if (!next) return Scalar(Absent{});
      value = *next;
    }
    return scalar_of(value);
  }

 private:
  enum class Index { kNone, kMade, kTooLarge };
  static constexpr std::size_t kMostIndexed = 64;

  // Most messages are flat objects from which several members are read: the first call scans the
  // text.
  Result<std::optional<std::string_view>> find_at_root(std::string_view part) {
    if (index_ == Index::kNone) make_index();
    if (index_ == Index::kTooLarge) return find_member(root_, part);
    Search search(part);
    for (const Member& member : members_) {
      if (!search(member)) break;
    }
    return search.answer();
  }

  void make_index() {
    members_.clear();
    index_ = Index::kMade;
    walk(root_, [&](const Member& member) {
      if (members_.size() == kMostIndexed) {
        index_ = Index::kTooLarge;
        return false;
      }
      members_.push_back(member);
      return true;
    });
  }

  std::string text_;
  std::string_view root_;
  bool good_ = false;
  Index index_ = Index::kNone;
  std::vector<Member> members_;
};

Document::Document() : impl_(std::make_unique<Impl>()) {}
Document::~Document() = default;

Result<void> Document::parse(BytesView text) { return impl_->parse(text); }
void Document::parse_known(BytesView text) { impl_->parse_known(text); }
Result<Scalar> Document::at(const Pointer& pointer) const { return impl_->at(pointer); }

}  // namespace semel::json
