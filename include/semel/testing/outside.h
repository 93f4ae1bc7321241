// Outside: replaces a system outside of the store in a test of a handler: a mail server, a payment
// gateway, another database.
//
//   semel::testkit::Outside mails;
//   auto handler = [&](const semel::Message& m) {
//     mails.add(m.key().text);
//     return semel::done();
//   };
//
// `deliver` (deliver.h) may end the simulated process before and after each call, or pause it
// there. It ends the process by an exception, so no call may be in a noexcept function, such as a
// destructor, except a destructor that runs while another exception passes. There the process ends
// without an exception, and later calls have no effect.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <semel/standard.h>

namespace semel::testkit {

// Names a point of a handler's own code at which `deliver` may end the simulated process, by an
// exception that is no std::exception, or pause it. Does nothing elsewhere.
void point(std::string_view name);

// One thread at a time.
class Outside {
 public:
  // `name` is what reports call it.
  explicit Outside(std::string name = "outside") : name_(std::move(name)) {}

  // An effect, once more.
  void add(const std::string& effect);
  // Like a receiver that honours keys: does nothing where the effect exists. True: it is new.
  bool add_once(const std::string& effect);
  // True where the effect was made before. A handler that asks and then adds is sometimes too late.
  bool has(const std::string& effect) const;

  std::size_t count(const std::string& effect) const;
  const std::map<std::string, std::size_t>& effects() const noexcept { return effects_; }
  const std::string& name() const noexcept { return name_; }
  void clear() noexcept { effects_.clear(); }

 private:
  std::string name_;
  std::map<std::string, std::size_t> effects_;
};

}  // namespace semel::testkit
