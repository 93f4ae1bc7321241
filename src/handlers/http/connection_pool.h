// ConnectionPool: the connections that an endpoint's calls share.
//
// A call over HTTP/2 that ends at its timeout leaves its connection open for later calls. If that
// connection has fallen silent, as behind a proxy that lost its state, all of them would time out.
// So the calls that begin then get a new pool; calls under way keep theirs, and end there.
#pragma once

#include <map>
#include <string>

#include "clients/curl/handles.h"
#include "clients/curl/sent_once.h"

namespace semel::handlers {

// For one thread.
class ConnectionPool {
 public:
  ConnectionPool();

  void* share() const noexcept { return share_.get(); }  // libcurl's handle; may be null
  curl::LastStreams& last_streams() noexcept { return last_streams_; }

  // How a call on `connection` ended. A connection is named as SentOnce does.
  void answered(const std::string& connection) { silent_.erase(connection); }
  // True: so many in a row were not answered that later calls should not use the connection.
  [[nodiscard]] bool timed_out(const std::string& connection);

 private:
  curl::Share share_;
  curl::LastStreams last_streams_;
  std::map<std::string, int> silent_;  // the calls in a row that were not answered
};

}  // namespace semel::handlers
