// A crowd of senders: each connection sends a request, waits for its answer, and sends the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace semel::bench {

struct HttpLoad {
  double seconds = 0;             // from the first request to the last answer
  std::vector<double> latencies;  // seconds of each request, in the order of the answers
};

// Sends each of `payloads` once to `/` on so many connections, which are opened before the time
// begins, from one thread: the caller's. Gives up unless each is answered 200.
HttpLoad send_over_http(std::uint16_t port, const std::vector<std::string>& payloads,
                        std::size_t connections);

}  // namespace semel::bench
