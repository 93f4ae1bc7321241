#include "clients/curl/sent_once.h"

#include <curl/curl.h>

#include <charconv>
#include <optional>
#include <stdexcept>

namespace semel::curl {

namespace {

// The number behind the first `before` in `line`.
std::optional<std::uint32_t> number_after(std::string_view line, std::string_view before) {
  const auto found = line.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  line.remove_prefix(found + before.size());
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
  return problem == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

struct SentOnce::Callbacks {
  static int before_request(void* request, char*, char* local_ip, int, int local_port) {
    const bool may = static_cast<SentOnce*>(request)->begin(local_ip, local_port);
    return may ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
  }
  static int on_log(CURL*, curl_infotype type, char* data, std::size_t size, void* request) {
    auto& self = *static_cast<SentOnce*>(request);
    if (type == CURLINFO_TEXT) self.read_log({data, size});
    if (type == CURLINFO_HEADER_IN || type == CURLINFO_DATA_IN) self.answered_ = true;
    return 0;
  }
};

bool LastStreams::refused(const std::string& connection, std::uint32_t stream) const {
  const auto found = last_.find(connection);
  return found != last_.end() && stream > found->second;
}

void SentOnce::watch(void* easy) {
  for (const CURLcode code :
       {curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Callbacks::before_request),
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, static_cast<void*>(this))}) {
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
  }
}

void SentOnce::watch_streams(void* easy, LastStreams& last_streams) noexcept {
  last_streams_ = &last_streams;
  // Only libcurl's log says on which stream a request goes, and what the server said of streams.
  curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, &Callbacks::on_log);
  curl_easy_setopt(easy, CURLOPT_DEBUGDATA, static_cast<void*>(this));
  curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
}

bool SentOnce::begin(const char* local_ip, int local_port) {
  if (sent_ && !refused()) {
    repeated_ = true;
    return false;
  }
  sent_twice_ = sent_;
  sent_ = true;
  connection_.assign(local_ip).append(":").append(std::to_string(local_port));
  stream_ = 0;
  stream_refused_ = false;
  answered_ = false;
  return true;
}

bool SentOnce::refused() const noexcept {
  if (stream_ == 0 || answered_) return false;
  return stream_refused_ || last_streams_->refused(connection_, stream_);
}

void SentOnce::read_log(std::string_view line) {
  if (line.starts_with("Using Stream ID: ")) {
    stream_began(number_after(line, "ID: ").value_or(0));
  } else if (line.starts_with("[HTTP/2] [") && line.find("] OPENED stream ") != line.npos) {
    stream_began(number_after(line, "2] [").value_or(0));
  } else if (line.starts_with("received GOAWAY, ") || line.starts_with("recveived GOAWAY, ")) {
    const auto last = number_after(line, "last_stream=");
    if (last && on_connection_) last_streams_->set(connection_, *last);
  } else if (line.starts_with("HTTP/2 stream ")) {
    if (line.find(" refused by server") != line.npos) {
      stream_refused_ = number_after(line, "stream ") == stream_;
    }
  } else if (line.starts_with("REFUSED_STREAM, retrying")) {
    // After a repetition libcurl says this of an earlier stream too.
    stream_refused_ = stream_refused_ || !sent_twice_;
  } else if (line.starts_with("Connection died, ")) {
    on_connection_ = false;
  }
}

void SentOnce::stream_began(std::uint32_t stream) {
  stream_ = stream;
  on_connection_ = true;
  // The first stream of each connection: an earlier one had the same name.
  if (stream == 1) last_streams_->forget(connection_);
}

}  // namespace semel::curl
