// Certificate: what a listener shows to each connection that begins with TLS. Files that changed
// are read anew when the next connection comes; where they cannot be used, what was read before
// stays.
#pragma once

#include <memory>

#include <semel/result.h>

#include "http_server/http_tls.h"
#include "http_server/listen_socket.h"

namespace semel::http {

// One thread at a time.
class Certificate {
 public:
  // An error with the code of `names` where the files cannot be read, or do not belong together.
  static Result<std::unique_ptr<Certificate>> open(HttpTls files, const ListenerNames& names);
  virtual ~Certificate() = default;

  // The function that asks for it at a handshake, in the type that the TLS library has for it. The
  // context of the connection's socket must be a Certificate.
  static void* callback() noexcept;
};

}  // namespace semel::http
