#include "handlers/http/connection_pool.h"

#include <curl/curl.h>

namespace semel::handlers {

namespace {

// After this many timeouts in a row without a byte of an answer, a connection counts as silent. A
// slow endpoint costs at most one new connection for as many calls.
constexpr int kMostSilent = 3;
// Each connection that ended at a call's timeout leaves a name.
constexpr std::size_t kMostNames = 1'000;

}  // namespace

ConnectionPool::ConnectionPool() : share_(curl_share_init()) {
  if (share_) curl_share_setopt(share_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
}

bool ConnectionPool::timed_out(const std::string& connection) {
  if (silent_.size() >= kMostNames) silent_.clear();
  return ++silent_[connection] >= kMostSilent;
}

}  // namespace semel::handlers
