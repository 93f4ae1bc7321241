// ResponseReader: collects the needed parts of an answer as it arrives, within limits.
#pragma once

#include <cstddef>
#include <string>

#include <semel/bytes.h>

namespace semel::handlers {

class ResponseReader {
 public:
  explicit ResponseReader(std::size_t body_limit) noexcept : body_limit_(body_limit) {}

  // One line of the headers, with its end; also of interim answers and trailers. False: a limit is
  // exceeded, stop reading.
  bool header(BytesView line);
  // Likewise, for a part of the body.
  bool body(BytesView part);

  // The status of the final answer; 0 until its headers are complete.
  int status() const noexcept { return whole_ ? status_ : 0; }
  bool too_large() const noexcept { return too_large_; }
  const std::string& content_type() const noexcept { return content_type_; }
  const std::string& retry_after() const noexcept { return retry_after_; }
  const std::string& location() const noexcept { return location_; }
  // Complete where the status is 2xx and it is within the limit; else its beginning, for people.
  Bytes take_body() noexcept { return std::move(body_); }

 private:
  void status_line(std::string_view line);
  void field(std::string_view line);

  std::size_t body_limit_;
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  int status_ = 0;
  bool whole_ = false;
  bool too_large_ = false;
  std::string content_type_;
  std::string retry_after_;
  std::string location_;
  Bytes body_;
};

}  // namespace semel::handlers
