// The server's end of TLS for tests, with a certificate made at the time of the test.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/temp_dir.h"

namespace semel::test {

// One connection. Non-blocking: -1 with errno EAGAIN if it would have to wait.
class TlsSession {
 public:
  virtual ~TlsSession() = default;
  virtual ssize_t read(char* data, std::size_t size) = 0;
  virtual ssize_t write(const char* data, std::size_t size) = 0;
};

// A key and a self-signed certificate, good for an hour.
class TlsIdentity {
 public:
  // `subject`: the name it is good for, as OpenSSL writes it: "IP:127.0.0.1", "DNS:example.com".
  // `protocol`: the one that is spoken over it, as ALPN names it: "h2". Empty: the client's choice.
  explicit TlsIdentity(std::string_view subject = "IP:127.0.0.1", std::string_view protocol = "");
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  std::string certificate() const;  // PEM
  std::string private_key() const;  // PEM
  std::unique_ptr<TlsSession> accept(int fd) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Identities as files, which a server's user may read.
class TlsFiles {
 public:
  TlsFiles();

  // "name.pem" and "name.key".
  void add(const std::string& name, const TlsIdentity& identity) const;
  void write(const std::string& name, const std::string& text) const;
  std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TempDir folder_;
};

}  // namespace semel::test
