// One HTTP request of a test to a port of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/descriptor.h"

namespace semel::test {

struct HttpAnswer {
  int status = 0;  // 0: no answer
  std::string head;
  std::string body;

  // The value of the header, whose name must be in the server's spelling; "(none)" without it.
  std::string header(std::string_view name) const;
};

// `headers`: whole lines. A Host of localhost is sent where none of them is one.
HttpAnswer http_get(std::uint16_t port, std::string_view path,
                    const std::vector<std::string>& headers = {}, std::string_view method = "GET");

// Takes apart the bytes that http_raw read.
HttpAnswer http_answer(const std::string& read);

// Sends the bytes as they are and reads to the end of the connection.
std::string http_raw(std::uint16_t port, std::string_view bytes);

// The same at a Unix socket; empty: nobody listens.
std::string http_raw_at(const std::string& path, std::string_view bytes);
HttpAnswer http_get_at(const std::string& path, std::string_view target,
                       const std::vector<std::string>& headers = {},
                       std::string_view method = "GET");

// The two halves of it. A socket that is not valid: nobody listens, or not all could be sent.
system::Descriptor http_sent(std::uint16_t port, std::string_view bytes);
std::string http_rest(const system::Descriptor& socket);

}  // namespace semel::test
