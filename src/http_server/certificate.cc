#include "http_server/certificate.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace semel::http {

namespace {

// Certificates between the listener's and its authority's.
constexpr unsigned kLongestChain = 16;

struct Unusable {
  std::string file;
  std::string why;
};

tl::unexpected<Unusable> unusable(const std::string& file, const std::string& why) {
  return tl::unexpected(Unusable{file, why});
}

tl::unexpected<Error> error_of(const Unusable& unusable, const ListenerNames& names) {
  return failure({ErrorKind::kRejected, names.tls_code,
                  fmt::format("{}: {}: {}", names.tls_field, unusable.file, unusable.why),
                  "a certificate and its key in PEM format, which this user may read"});
}

// Changes when a file is rewritten.
using Version = std::tuple<dev_t, ino_t, off_t, time_t, long>;

std::optional<Version> version_of(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return std::nullopt;
  return Version(seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec);
}

tl::expected<std::string, Unusable> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unusable(path, "it cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

gnutls_datum_t bytes_of(std::string& text) {
  return {reinterpret_cast<unsigned char*>(text.data()), static_cast<unsigned>(text.size())};
}

struct PublicKey {
  PublicKey() noexcept {
    if (gnutls_pubkey_init(&key) < 0) key = nullptr;
  }
  ~PublicKey() {
    if (key != nullptr) gnutls_pubkey_deinit(key);
  }
  PublicKey(const PublicKey&) = delete;
  PublicKey& operator=(const PublicKey&) = delete;
  gnutls_pubkey_t key = nullptr;
};

// The same for each form of one public key.
std::string id_of(gnutls_pubkey_t key) {
  std::array<unsigned char, 64> bytes{};
  std::size_t size = bytes.size();
  if (gnutls_pubkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, bytes.data(), &size) < 0) return {};
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

// A certificate with its chain, and its key.
class Pair {
 public:
  ~Pair() {
    for (unsigned i = 0; i < length_; ++i) gnutls_pcert_deinit(&chain_[i]);
    if (key_ != nullptr) gnutls_privkey_deinit(key_);
  }
  Pair() = default;
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  static tl::expected<std::unique_ptr<Pair>, Unusable> read(const HttpTls& files);

  gnutls_pcert_st* chain() noexcept { return chain_.data(); }
  unsigned length() const noexcept { return length_; }
  gnutls_privkey_t key() const noexcept { return key_; }

 private:
  std::array<gnutls_pcert_st, kLongestChain> chain_{};
  unsigned length_ = 0;
  gnutls_privkey_t key_ = nullptr;
};

tl::expected<std::unique_ptr<Pair>, Unusable> Pair::read(const HttpTls& files) {
  auto certificate = contents_of(files.certificate);
  if (!certificate) return tl::unexpected(std::move(certificate.error()));
  auto key = contents_of(files.key);
  if (!key) return tl::unexpected(std::move(key.error()));
  auto made = std::make_unique<Pair>();
  gnutls_datum_t bytes = bytes_of(*certificate);
  unsigned length = kLongestChain;
  int code = gnutls_pcert_list_import_x509_raw(made->chain_.data(), &length, &bytes,
                                               GNUTLS_X509_FMT_PEM, 0);
  if (code < 0) return unusable(files.certificate, gnutls_strerror(code));
  made->length_ = length;
  if (gnutls_privkey_init(&made->key_) < 0) return unusable(files.key, "there is no memory for it");
  bytes = bytes_of(*key);
  code = gnutls_privkey_import_x509_raw(made->key_, &bytes, GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (code < 0) return unusable(files.key, gnutls_strerror(code));
  const PublicKey own;
  if (own.key == nullptr || gnutls_pubkey_import_privkey(own.key, made->key_, 0, 0) < 0 ||
      id_of(own.key) != id_of(made->chain_[0].pubkey)) {
    return unusable(files.key, "it is not the key of " + files.certificate);
  }
  return made;
}

class FileCertificate final : public Certificate {
 public:
  FileCertificate(HttpTls files, ListenerNames names, CertificateTold told)
      : files_(std::move(files)), names_(std::move(names)), told_(std::move(told)) {}

  Result<void> read();
  // The pair of the newest files that could be used.
  Pair& now() noexcept;

 private:
  void renew();
  using Versions = std::pair<std::optional<Version>, std::optional<Version>>;
  Versions versions() const { return {version_of(files_.certificate), version_of(files_.key)}; }

  const HttpTls files_;
  const ListenerNames names_;
  const CertificateTold told_;
  Versions seen_;
  bool in_trouble_ = false;
  // A handshake in progress may still use an older pair, so all renewed pairs are kept.
  std::vector<std::unique_ptr<Pair>> pairs_;
};

Result<void> FileCertificate::read() {
  seen_ = versions();
  auto pair = Pair::read(files_);
  if (!pair) return error_of(pair.error(), names_);
  pairs_.push_back(std::move(*pair));
  return {};
}

void FileCertificate::renew() {
  const Result<void> renewed = read();
  const bool was_in_trouble = std::exchange(in_trouble_, !renewed);
  if (!told_ || (renewed && !was_in_trouble)) return;
  told_(renewed ? nullptr : &renewed.error());
}

Pair& FileCertificate::now() noexcept {
  try {
    // Files that are written one after the other are good again when both are.
    if (versions() != seen_) renew();
  } catch (...) {
    // After std::bad_alloc the next connection tries again.
    seen_ = {};
  }
  return *pairs_.back();
}

int give(gnutls_session_t session, const gnutls_datum_t*, int, const gnutls_pk_algorithm_t*, int,
         gnutls_pcert_st** chain, unsigned* length, gnutls_privkey_t* key) {
  auto* const connection = static_cast<MHD_Connection*>(gnutls_session_get_ptr(session));
  const auto* const context =
      ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  if (context == nullptr || context->socket_context == nullptr) return -1;
  Pair& pair =
      static_cast<FileCertificate*>(static_cast<Certificate*>(context->socket_context))->now();
  *chain = pair.chain();
  *length = pair.length();
  *key = pair.key();
  return 0;
}

}  // namespace

void* Certificate::callback() noexcept { return reinterpret_cast<void*>(&give); }

Result<std::unique_ptr<Certificate>> Certificate::open(HttpTls files, ListenerNames names,
                                                       CertificateTold told) {
  auto made =
      std::make_unique<FileCertificate>(std::move(files), std::move(names), std::move(told));
  if (auto read = made->read(); !read) return failure(std::move(read.error()));
  return made;
}

}  // namespace semel::http
