// The protocol between a tap and a run: JSON, one document a line.
//
// The tap sends a request. The run answers with a hello, or with a refusal and its end; then it
// sends endings, and in their place the number of those that did not fit; last a goodbye, if
// everything could be sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <semel/result.h>
#include <semel/spi/source.h>

#include "base/json.h"
#include "tap/delivery_event.h"

namespace semel::tap {

inline constexpr std::size_t kLongestRequest = 4 << 10;
// A longer payload is replaced by its size.
inline constexpr std::size_t kLongestPayload = 1 << 20;
// The longest line of a run: such a payload in its longest JSON form, and all else.
inline constexpr std::size_t kLongestLine = 16 << 20;

struct Request {
  std::string consumer;
  std::vector<Outcome::Kind> outcomes = {};  // empty: all of them
  bool payload = false;
  bool figures = false;  // of its sources, once, after the hello

  bool wants(std::string_view of, Outcome::Kind outcome) const noexcept;
};

struct Hello {
  std::int64_t pid = 0;
  bool has_consumer = false;  // false: it runs on the store, but not that consumer
};
struct Refusal {
  std::string why;
};
struct NotShown {
  std::uint64_t count = 0;
};
struct Goodbye {};
struct DeliveryEvent {
  StoreTime at{};
  EndingView view() const noexcept;

  std::string consumer;
  std::optional<Bytes> key;
  Outcome::Kind outcome = Outcome::Kind::kDone;
  int attempt = 0;
  std::string reason;
  std::string error;
  std::chrono::milliseconds again_in{0};
  std::optional<StoreTime> completed_at;
  std::string partition;
  std::string position;
  std::optional<std::chrono::nanoseconds> took;
  std::optional<Bytes> payload;                 // if it was requested
  std::optional<std::size_t> payload_too_long;  // its size instead
};
// The figures of a run's sources, and of the front windows. A run that does not know them sends
// none.
struct Figures {
  struct One {
    std::string consumer;
    std::string source;  // "kafka"; or "front": the window before the consumer's records
    SourceFigure figure;
  };
  std::vector<One> all;
};
using Said = std::variant<Hello, Refusal, NotShown, DeliveryEvent, Goodbye, Figures>;

// Including the line end.
std::string line_of(const Request& request);
std::string line_of(const Hello& hello);
std::string line_of(const Refusal& refusal);
std::string line_of(const NotShown& not_shown);
std::string line_of(Goodbye);
std::string line_of(const DeliveryEvent& event);
std::string line_of(const Figures& figures);

// A copy of what the view shows. A payload that is wanted but too long is replaced by its size.
DeliveryEvent event_of(const EndingView& view, StoreTime at, bool payload);

// Parses lines without their end. kRejected: what is wrong with one. One thread at a time.
class LineParser {
 public:
  Result<Request> request(std::string_view line);
  Result<Said> said(std::string_view line);

 private:
  Result<void> begin(std::string_view line);
  Result<DeliveryEvent> event();
  Result<Figures> figures();
  bool has(const char* pointer) const;
  Result<std::string> text(const char* pointer) const;
  // The text, or the decoded base64.
  Result<Bytes> bytes(const std::string& pointer) const;
  Result<std::int64_t> number(const char* pointer) const;
  bool truth(const char* pointer) const;

  json::Document document_;
};

}  // namespace semel::tap
