// AuditLog over three hashes: the entries by their ids, their outcomes, and the id of each request.
#include "stores/redis/audit.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "stores/redis/lua.h"
#include "stores/redis/script_text.h"
#include "stores/redis/scripts.h"

namespace semel::redis {
namespace {

constexpr std::size_t kStampBytes = 6;
constexpr std::size_t kLengthBytes = 4;

void append_part(Bytes& to, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  for (std::size_t i = kLengthBytes; i-- > 0;) to += static_cast<char>(size >> (8 * i) & 0xFFU);
  to += part;
}

std::uint64_t number_from(BytesView& from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (const char byte : from.substr(0, bytes)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  from.remove_prefix(std::min(bytes, from.size()));
  return value;
}

std::string part_from(BytesView& from) {
  const std::size_t size = std::min<std::size_t>(number_from(from, kLengthBytes), from.size());
  std::string part(from.substr(0, size));
  from.remove_prefix(size);
  return part;
}

AuditEntry audit_entry_of(const Reply& reply) {
  AuditEntry entry;
  if (reply.list.size() < 3) return entry;
  entry.id = reply.list[0].number;
  BytesView kept = reply.list[1].bytes;
  entry.at = StoreTime(std::chrono::milliseconds(number_from(kept, kStampBytes)));
  entry.who = part_from(kept);
  entry.action = part_from(kept);
  entry.target = part_from(kept);
  entry.reason = part_from(kept);
  if (reply.list[2].kind == Reply::Kind::kBytes) entry.outcome = reply.list[2].bytes;
  return entry;
}

class RedisAudit final : public AuditLog {
 public:
  RedisAudit(StoreContext& context, const std::string& clock)
      : context_(context),
        entries_(context.names.of_store("audit")),
        ends_(context.names.of_store("audit_ends")),
        requests_(context.names.of_store("audit_requests")),
        append_(with_now(clock, lua::kAuditAppend)),
        end_(lua::kAuditEnd),
        list_(lua::kAuditList) {}

  Result<std::int64_t> append(const Nonce& request, const AuditEntry& entry) override {
    return core::contained([&] {
      Bytes kept;
      for (const std::string* part : {&entry.who, &entry.action, &entry.target, &entry.reason}) {
        append_part(kept, *part);
      }
      const Bytes drawn(reinterpret_cast<const char*>(request.bytes.data()), request.bytes.size());
      return ask(append_, {drawn, std::move(kept)}, Loss::kInDoubt).number;
    });
  }

  Result<void> end(std::int64_t id, std::string_view outcome) override {
    return core::contained([&] {
      ask(end_, {std::to_string(id), Bytes(outcome)}, Loss::kInDoubt);
    });
  }

  Result<std::vector<AuditEntry>> list(std::optional<std::int64_t> before,
                                       std::size_t limit) override {
    return core::contained([&] {
      const Reply reply =
          ask(list_, {before ? std::to_string(*before) : Bytes(), std::to_string(limit)},
              Loss::kNothingDone);
      std::vector<AuditEntry> entries;
      for (const Reply& one : reply.list) entries.push_back(audit_entry_of(one));
      return entries;
    });
  }

 private:
  // Each of them is idempotent. Replicas confirm those that the server may lose, where the store
  // asks for that: like all calls that are in doubt without an answer.
  Reply ask(Script& script, const std::vector<Bytes>& arguments, Loss loss) {
    Call call;
    call.keys = {entries_, ends_, requests_};
    for (const Bytes& one : arguments) call.arguments.push_back(one);
    return context_.run_one(script, call, loss);
  }

  StoreContext& context_;
  const std::string entries_;
  const std::string ends_;
  const std::string requests_;
  Script append_;
  Script end_;
  Script list_;
};

}  // namespace

std::unique_ptr<AuditLog> make_audit(StoreContext& context, const std::string& clock) {
  return std::make_unique<RedisAudit>(context, clock);
}

}  // namespace semel::redis
