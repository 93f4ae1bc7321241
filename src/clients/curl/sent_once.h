// SentOnce: lets a request be sent once.
//
// If a reused connection ends without an answer, libcurl repeats the request by itself; but the
// server may have done the work. It has not where it refused the request's HTTP/2 stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace semel::curl {

// The last stream that the server of an HTTP/2 connection processes, where it said so (GOAWAY):
// later streams have no effect (RFC 9113, 6.8). A connection is named by its local address and
// port, which a later connection may have again.
class LastStreams {
 public:
  void set(const std::string& connection, std::uint32_t last) { last_[connection] = last; }
  void forget(const std::string& connection) { last_.erase(connection); }
  bool refused(const std::string& connection, std::uint32_t stream) const;

 private:
  std::map<std::string, std::uint32_t> last_;
};

class SentOnce {
 public:
  // `easy`, libcurl's easy handle, must be cleaned up before this object is destroyed. Throws
  // std::runtime_error where libcurl refuses.
  void watch(void* easy);
  // Also recognizes a refused stream, whose request libcurl may repeat. Without this, or where
  // libcurl does not say enough, such a request counts as sent. `last_streams`: shared by all
  // requests whose connections are shared; must outlive `easy`.
  void watch_streams(void* easy, LastStreams& last_streams) noexcept;

  // True if the request was sent, at least in part, or was about to be, and was not refused.
  bool sent() const noexcept { return sent_ && !refused(); }
  // True if the server refused the stream on which it was sent last, and did not process it.
  bool refused() const noexcept;
  // True if libcurl was about to send it again: the first connection ended without an answer.
  bool repeated() const noexcept { return repeated_; }
  // True if a part of an answer has arrived; known only with watch_streams().
  bool answered() const noexcept { return answered_; }
  // The name of the connection on which it was sent last; empty if it was not.
  const std::string& connection() const noexcept { return connection_; }

  // For libcurl's callbacks. begin(): before each sending; false: it must not be sent.
  [[nodiscard]] bool begin(const char* local_ip, int local_port);
  void read_log(std::string_view line);

 private:
  struct Callbacks;
  void stream_began(std::uint32_t stream);

  LastStreams* last_streams_ = nullptr;
  std::string connection_;
  std::uint32_t stream_ = 0;     // 0: not known, or not HTTP/2
  bool on_connection_ = false;   // what libcurl says concerns connection_
  bool stream_refused_ = false;  // libcurl said so of this stream
  bool sent_ = false;
  bool sent_twice_ = false;
  bool repeated_ = false;
  bool answered_ = false;
};

}  // namespace semel::curl
