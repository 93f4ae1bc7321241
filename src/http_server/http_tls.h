// HttpTls: the files that a listener's TLS needs, in PEM format.
#pragma once

#include <string>

namespace semel::http {

struct HttpTls {
  std::string certificate;  // and behind it those that lead to its authority
  std::string key;
};

}  // namespace semel::http
