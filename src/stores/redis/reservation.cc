#include "stores/redis/reservation.h"

#include <cstring>
#include <utility>

#include "clients/redis/session.h"
#include "stores/redis/lua.h"

namespace semel::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kNonce = 16;

Bytes draw(Random& random) {
  const std::uint64_t words[] = {random.next(), random.next()};
  static_assert(sizeof words == kNonce);
  return Bytes(reinterpret_cast<const char*>(words), sizeof words);
}

// The session comes after the nonce.
bool is_gone(Connection& connection, const Bytes& holder) {
  if (holder.size() < kNonce) return false;
  const Bytes session = holder.substr(kNonce);
  if (!known_to(connection, session)) return false;
  const auto there = connected(connection, {&session, 1});
  return there && there->empty();
}

}  // namespace

NameScripts::NameScripts() : release(lua::kReleaseName), renew(lua::kRenewName) {}

std::unique_ptr<NameReservation> NameReservation::take(std::string name,
                                                       const Pool::Connect& connect,
                                                       std::shared_ptr<NameScripts> scripts,
                                                       Random& random, const Times& times) {
  std::unique_ptr<NameReservation> held(
      new NameReservation(std::move(name), connect, std::move(scripts), draw(random), times));
  if (!held->try_take() && !(held->free_of_the_dead() && held->try_take())) return nullptr;
  held->thread_ = std::thread([held = held.get()] { held->keep(); });
  return held;
}

NameReservation::NameReservation(std::string name, Pool::Connect connect,
                                 std::shared_ptr<NameScripts> scripts, Bytes nonce,
                                 const Times& times)
    : name_(std::move(name)),
      connect_(std::move(connect)),
      scripts_(std::move(scripts)),
      nonce_(std::move(nonce)),
      times_(times),
      connection_(connect_()) {
  me_ = nonce_ + session_of(*connection_);
}

NameReservation::~NameReservation() {
  if (!thread_.joinable()) return;
  {
    const system::MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  release();
}

bool NameReservation::try_take() {
  const std::string expiry = std::to_string(times_.expiry.count());
  const Reply taken = connection_->ask({"SET", name_, me_, "NX", "PX", expiry}, Loss::kInDoubt);
  return taken.kind == Reply::Kind::kStatus;
}

bool NameReservation::free_of_the_dead() {
  const Bytes holder = connection_->ask({"GET", name_}, Loss::kNothingDone).bytes;
  if (holder.empty()) return true;
  if (!is_gone(*connection_, holder)) return false;
  Call call;
  call.keys = {name_};
  call.arguments = {holder};
  scripts_->release.run(*connection_, {&call, 1}, Loss::kNothingDone);
  return true;
}

void NameReservation::keep() {
  system::RelockableLock lock(mutex_);
  milliseconds pause = times_.renew_every;
  while (!wake_.wait_for(mutex_, pause, [&]() SEMEL_REQUIRES(mutex_) { return ending_; })) {
    if (lost_) continue;
    lock.unlock();
    pause = times_.renew_every;
    try {
      renew();
    } catch (const std::exception&) {
      // Users of the store notice the outage by their own calls.
      pause = times_.again;
    }
    lock.lock();
  }
}

void NameReservation::renew() {
  if (refused_ || !connection_->whole()) {
    connection_ = connect_();
    me_ = nonce_ + session_of(*connection_);
    refused_ = false;
  }
  Call call;
  call.keys = {name_};
  call.arguments = {std::to_string(kNonce), me_, std::to_string(times_.expiry.count())};
  const Reply reply =
      std::move(scripts_->renew.run(*connection_, {&call, 1}, Loss::kNothingDone).front());
  // Perhaps because another node of a Cluster has the name now.
  refused_ = reply.is_error();
  if (refused_) throw failure_of(reply);
  lost_ = reply.number == 0;
}

void NameReservation::release() noexcept {
  try {
    if (!connection_->whole()) return;  // it expires
    Call call;
    call.keys = {name_};
    call.arguments = {me_};
    scripts_->release.run(*connection_, {&call, 1}, Loss::kNothingDone);
  } catch (const std::exception&) {
    // It expires.
  }
}

}  // namespace semel::redis
