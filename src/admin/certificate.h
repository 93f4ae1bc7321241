// Certificate: what a listener shows to each connection that begins with TLS. Files that changed
// are read anew when the next connection comes; where they cannot be used, what was read before
// stays.
#pragma once

#include <memory>

#include <semel/result.h>

#include "admin/http_tls.h"

namespace semel::admin {

// One thread at a time.
class Certificate {
 public:
  // R363: the files cannot be read, or do not belong together.
  static Result<std::unique_ptr<Certificate>> open(HttpTls files);
  virtual ~Certificate() = default;

  // The function that asks for it at a handshake, in the type that the TLS library has for it. The
  // context of the connection's socket must be a Certificate.
  static void* callback() noexcept;
};

}  // namespace semel::admin
