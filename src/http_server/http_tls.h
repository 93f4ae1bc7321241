// HttpTls: the files that a listener's TLS needs, in PEM format.
#pragma once

#include <string>

namespace semel::http {

struct HttpTls {
  std::string certificate;  // followed by the chain to its authority
  std::string key;
};

}  // namespace semel::http
