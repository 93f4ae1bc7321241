#include "clients/redis/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "core/failure.h"

namespace semel::redis {
namespace {

// The most bytes of an encrypted record.
constexpr std::size_t kRecord = 16 << 10;

// The last error, in the library's words.
std::string words_of_library() {
  const unsigned long code = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

[[noreturn]] void no_file(const std::string& option, const std::string& path) {
  core::fail({ErrorKind::kRejected, "R259",
              fmt::format("{} of the Redis server's URL: {} cannot be used: {}", option, path,
                          words_of_library()),
              "name a file in PEM format that this user may read"});
}

[[noreturn]] void no_handshake(const Target& target, const std::string& why) {
  core::fail(
      {ErrorKind::kUnavailable, "R250",
       fmt::format("the Redis server at {} does not come to terms over TLS: {}",
                   endpoint_text(target), why),
       "tls-ca= names the certificate that the server's is made by; the host must be the one "
       "that it names"});
}

SSL_CTX* made_context(const Target& target) {
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_client_method());
  if (context == nullptr) no_handshake(target, words_of_library());
  return context;
}

void use_files(SSL_CTX* context, const Target& target) {
  if (!target.tls_ca.empty()) {
    if (::SSL_CTX_load_verify_locations(context, target.tls_ca.c_str(), nullptr) != 1) {
      no_file("tls-ca", target.tls_ca);
    }
  } else {
    ::SSL_CTX_set_default_verify_paths(context);
  }
  if (target.tls_cert.empty()) return;
  if (::SSL_CTX_use_certificate_chain_file(context, target.tls_cert.c_str()) != 1) {
    no_file("tls-cert", target.tls_cert);
  }
  const std::string& key = target.tls_key.empty() ? target.tls_cert : target.tls_key;
  if (::SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    no_file("tls-key", key);
  }
}

bool is_address(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// The certificate must name this host.
bool expect_host(SSL* ssl, const std::string& host) {
  if (is_address(host)) {
    return ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str()) == 1;
  }
  ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return ::SSL_set1_host(ssl, host.c_str()) == 1 &&
         ::SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

void Tls::Freed::operator()(SSL_CTX* context) const noexcept { ::SSL_CTX_free(context); }
void Tls::Freed::operator()(SSL* ssl) const noexcept { ::SSL_free(ssl); }

Tls::Tls(Socket& socket, const Target& target, Socket::Clock::time_point until)
    : socket_(socket), context_(made_context(target)) {
  ::ERR_clear_error();
  ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  use_files(context_.get(), target);
  const bool checked = target.tls == Target::Tls::kVerify;
  ::SSL_CTX_set_verify(context_.get(), checked ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  ssl_.reset(::SSL_new(context_.get()));
  if (ssl_ == nullptr) no_handshake(target, words_of_library());
  ::SSL_set_bio(ssl_.get(), ::BIO_new(::BIO_s_mem()), ::BIO_new(::BIO_s_mem()));
  ::SSL_set_connect_state(ssl_.get());
  if (!target.host.empty() && !expect_host(ssl_.get(), target.host)) {
    no_handshake(target, words_of_library());
  }
  shake_hands(target, until);
}

void Tls::shake_hands(const Target& target, Socket::Clock::time_point until) {
  for (;;) {
    ::ERR_clear_error();
    const int done = ::SSL_do_handshake(ssl_.get());
    const int error = done == 1 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), done);
    if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
      const long verified = ::SSL_get_verify_result(ssl_.get());
      send_encrypted();  // the alert tells the peer the cause
      no_handshake(target, verified == X509_V_OK ? words_of_library()
                                                 : ::X509_verify_cert_error_string(verified));
    }
    if (!send_encrypted()) no_handshake(target, error_);
    if (done == 1 && encrypted_.empty()) return;
    if (!socket_.wait(!encrypted_.empty(), until)) no_handshake(target, "no answer in time");
    if (!receive_encrypted()) no_handshake(target, error_);
  }
}

std::ptrdiff_t Tls::over(const std::string& why) noexcept {
  error_ = why;
  return -1;
}

// False if the connection is over.
bool Tls::send_encrypted() noexcept {
  BIO* const from = ::SSL_get_wbio(ssl_.get());
  for (;;) {
    char piece[kRecord];
    const int bytes = ::BIO_read(from, piece, sizeof piece);
    if (bytes <= 0) break;
    encrypted_.append(piece, static_cast<std::size_t>(bytes));
  }
  std::size_t sent = 0;
  while (sent < encrypted_.size()) {
    const std::ptrdiff_t bytes = socket_.write(std::string_view(encrypted_).substr(sent));
    if (bytes < 0) {
      over(socket_.error());
      return false;
    }
    if (bytes == 0) break;
    sent += static_cast<std::size_t>(bytes);
  }
  encrypted_.erase(0, sent);
  return true;
}

bool Tls::receive_encrypted() noexcept {
  char piece[kRecord];
  const std::ptrdiff_t bytes = socket_.read(piece, sizeof piece);
  if (bytes < 0) {
    over(socket_.error());
    return false;
  }
  if (bytes > 0) ::BIO_write(::SSL_get_rbio(ssl_.get()), piece, static_cast<int>(bytes));
  return true;
}

// Other uses of the library on this thread may have left errors in its queue, and it would
// attribute them to this connection: the queue is emptied before each call whose result is
// examined.
std::ptrdiff_t Tls::write(std::string_view bytes) noexcept {
  if (!send_encrypted()) return -1;
  if (!encrypted_.empty() || bytes.empty()) return 0;
  const std::size_t some = std::min(bytes.size(), kRecord);
  ::ERR_clear_error();
  const int taken = ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(some));
  if (taken <= 0) {
    const int error = ::SSL_get_error(ssl_.get(), taken);
    return error == SSL_ERROR_WANT_READ ? 0 : over("TLS: " + words_of_library());
  }
  return send_encrypted() ? taken : -1;
}

std::ptrdiff_t Tls::read(char* into, std::size_t size) noexcept {
  const int most = static_cast<int>(std::min(size, kRecord));
  more_ = false;
  for (bool again = true;; again = false) {
    ::ERR_clear_error();
    const int bytes = ::SSL_read(ssl_.get(), into, most);
    if (bytes > 0) {
      more_ = true;
      return bytes;
    }
    const int error = ::SSL_get_error(ssl_.get(), bytes);
    if (error == SSL_ERROR_ZERO_RETURN) return over("the server closed it");
    if (error != SSL_ERROR_WANT_READ) return over("TLS: " + words_of_library());
    if (!again) return 0;
    if (!receive_encrypted()) return -1;
  }
}

bool Tls::wait(bool write_too, Socket::Clock::time_point until) noexcept {
  if (more_) return true;
  if (!socket_.wait(write_too || !encrypted_.empty(), until)) return false;
  send_encrypted();  // if the connection is over, the next read reports it
  return true;
}

bool Tls::quiet() const noexcept {
  return encrypted_.empty() && ::SSL_has_pending(ssl_.get()) == 0 && socket_.quiet();
}

}  // namespace semel::redis
