#include "tests/support/tls.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

namespace semel::test {

namespace {

constexpr long kGoodFor = 3'600;  // seconds

void need(bool well, const char* what) {
  if (well) return;
  std::fprintf(stderr, "tests: no TLS: %s\n", what);
  std::abort();
}

class Session final : public TlsSession {
 public:
  Session(SSL_CTX* context, int fd) : ssl_(SSL_new(context)) {
    need(ssl_ != nullptr && SSL_set_fd(ssl_, fd) == 1, "SSL_new");
    SSL_set_accept_state(ssl_);
  }
  ~Session() override {
    SSL_shutdown(ssl_);
    SSL_free(ssl_);
  }
  ssize_t read(char* data, std::size_t size) override {
    return result(SSL_read(ssl_, data, static_cast<int>(size)));
  }
  ssize_t write(const char* data, std::size_t size) override {
    return result(SSL_write(ssl_, data, static_cast<int>(size)));
  }

 private:
  ssize_t result(int count) {
    if (count > 0) return count;
    const int error = SSL_get_error(ssl_, count);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
  }
  SSL* ssl_;
};

}  // namespace

struct TlsIdentity::Parts {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  std::string protocol;

  static int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                             const unsigned char*, unsigned int, void* parts) {
    const std::string& protocol = static_cast<const Parts*>(parts)->protocol;
    *chosen = reinterpret_cast<const unsigned char*>(protocol.data());
    *size = static_cast<unsigned char>(protocol.size());
    return SSL_TLSEXT_ERR_OK;
  }
  ~Parts() {
    SSL_CTX_free(context);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  void extend(int id, const char* value) const {
    X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    need(made != nullptr && X509_add_ext(certificate, made, -1) == 1, value);
    X509_EXTENSION_free(made);
  }
};

TlsIdentity::TlsIdentity(std::string_view subject, std::string_view protocol)
    : parts_(std::make_unique<Parts>()) {
  X509* certificate = parts_->certificate;
  need(parts_->key != nullptr && certificate != nullptr && parts_->context != nullptr, "memory");
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kGoodFor);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kGoodFor);
  X509_set_pubkey(certificate, parts_->key);
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* common = reinterpret_cast<const unsigned char*>("semel test");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common, -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  parts_->extend(NID_subject_alt_name, std::string(subject).c_str());
  parts_->extend(NID_basic_constraints, "critical,CA:TRUE");
  need(X509_sign(certificate, parts_->key, EVP_sha256()) > 0, "X509_sign");
  need(SSL_CTX_use_certificate(parts_->context, certificate) == 1, "certificate");
  need(SSL_CTX_use_PrivateKey(parts_->context, parts_->key) == 1, "key");
  SSL_CTX_set_mode(parts_->context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  parts_->protocol = protocol;
  if (protocol.empty()) return;
  SSL_CTX_set_alpn_select_cb(parts_->context, &Parts::choose_protocol, parts_.get());
}

TlsIdentity::~TlsIdentity() = default;

namespace {

std::string written(const std::function<int(BIO*)>& write) {
  BIO* memory = BIO_new(BIO_s_mem());
  need(memory != nullptr && write(memory) == 1, "PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

}  // namespace

std::string TlsIdentity::certificate() const {
  return written([&](BIO* to) { return PEM_write_bio_X509(to, parts_->certificate); });
}

std::string TlsIdentity::private_key() const {
  return written([&](BIO* to) {
    return PEM_write_bio_PrivateKey(to, parts_->key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::unique_ptr<TlsSession> TlsIdentity::accept(int fd) const {
  return std::make_unique<Session>(parts_->context, fd);
}

TlsFiles::TlsFiles() {
  using std::filesystem::perms;
  std::filesystem::permissions(folder_.path(), perms::owner_all | perms::group_read |
                                                   perms::group_exec | perms::others_read |
                                                   perms::others_exec);
}

void TlsFiles::add(const std::string& name, const TlsIdentity& identity) const {
  write(name + ".pem", identity.certificate());
  write(name + ".key", identity.private_key());
}

void TlsFiles::write(const std::string& name, const std::string& text) const {
  using std::filesystem::perms;
  write_file(file(name), text);
  std::filesystem::permissions(
      file(name), perms::owner_read | perms::owner_write | perms::group_read | perms::others_read);
}

}  // namespace semel::test
