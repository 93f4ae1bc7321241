#include "traces/traced_store.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/spi/unit_of_work.h>

#include "traces/lease_spans.h"

namespace semel::traces {

namespace {

using std::chrono::steady_clock;
using Spans = std::vector<std::shared_ptr<const DeliverySpan>>;

// The names of database systems in OpenTelemetry.
std::string system_name(std::string_view store) {
  return store == "postgres" ? "postgresql" : std::string(store);
}

class StoreSpans {
 public:
  StoreSpans(Tracer& tracer, std::string system) : tracer_(tracer), system_(std::move(system)) {}

  // Makes the call, and a span of it for each of `spans` that is not null.
  template <class Call>
  auto of(const Spans& spans, const char* operation, std::size_t batch, Call&& call) {
    const auto began = steady_clock::now();
    auto result = call();
    if (!spans.empty()) {
      const auto took = steady_clock::now() - began;
      add(spans, operation, batch, took, result ? nullptr : &result.error());
    }
    return result;
  }
  LeaseSpans& leases() noexcept { return leases_; }

 private:
  void add(const Spans& spans, const char* operation, std::size_t batch,
           steady_clock::duration took, const Error* error) noexcept {
    try {
      for (const auto& parent : spans) {
        Span span;
        span.name = std::string("store ") + operation;
        span.kind = Span::Kind::kClient;
        span.attributes.push_back({"db.system.name", system_});
        span.attributes.push_back({"db.operation.name", std::string(operation)});
        if (batch > 1) {
          span.attributes.push_back({"db.operation.batch.size", static_cast<std::int64_t>(batch)});
        }
        if (error != nullptr) span.error = error->code.empty() ? "failed" : error->code;
        tracer_.add_child(*parent, std::move(span), took);
      }
    } catch (...) {
      // If memory runs out, the span is lost.
    }
  }

  Tracer& tracer_;
  const std::string system_;
  LeaseSpans leases_;
};

Spans spans_of(std::span<const Message* const> messages) {
  Spans made;
  for (const Message* const message : messages) {
    if (message->span() != nullptr) made.push_back(message->span());
  }
  return made;
}

class TracedUnit final : public UnitOfWork {
 public:
  TracedUnit(std::unique_ptr<UnitOfWork> unit, StoreSpans& all)
      : unit_(std::move(unit)), all_(all) {}

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages) override {
    spans_ = spans_of(messages);
    batch_ = messages.size();
    return all_.of(spans_, "claim", batch_, [&] { return unit_->claim(messages); });
  }
  Result<std::vector<Applied>> confirm(std::span<const Lease> leases) override {
    spans_.clear();
    for (const Lease& lease : leases) {
      if (auto span = all_.leases().find(lease)) spans_.push_back(std::move(span));
    }
    batch_ = leases.size();
    return all_.of(spans_, "confirm", batch_, [&] { return unit_->confirm(leases); });
  }
  void run(std::size_t message, const StatementList& statements) override {
    unit_->run(message, statements);
  }
  Result<Rows> query(std::size_t message, const RecordedStatement& statement) override {
    return unit_->query(message, statement);
  }
  Result<FlushReport> flush() override {
    return all_.of(spans_, "flush", batch_, [&] { return unit_->flush(); });
  }
  Result<void> undo(std::size_t message) override { return unit_->undo(message); }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return all_.of(spans_, "finish", batch_, [&] { return unit_->finish(batch); });
  }
  Result<void> commit() override {
    return all_.of(spans_, "commit", batch_, [&] { return unit_->commit(); });
  }
  Result<FlushReport> flush_and_commit(std::span<const Finish> batch) override {
    return all_.of(spans_, "commit", batch_, [&] { return unit_->flush_and_commit(batch); });
  }

 private:
  const std::unique_ptr<UnitOfWork> unit_;
  StoreSpans& all_;
  Spans spans_;  // of the messages that it works on
  std::size_t batch_ = 0;
};

class TracedStore final : public Store, private TransactionalStore {
 public:
  TracedStore(std::unique_ptr<Store> store, Tracer& tracer)
      : store_(std::move(store)), all_(tracer, system_name(store_->traits().name)) {}

  const StoreTraits& traits() const noexcept override { return store_->traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets = store_->facets();
    if (facets.transactional != nullptr) facets.transactional = this;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    return store_->attach(consumer);
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    const Spans spans = spans_of(messages);
    auto claims =
        all_.of(spans, "claim", messages.size(), [&] { return store_->claim(messages, options); });
    if (claims && !spans.empty()) remember(messages, *claims);
    return claims;
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return store_->renew(leases, lease);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    Spans spans;
    for (const Finish& finish : batch) {
      auto span = finish.lease ? all_.leases().find(*finish.lease) : nullptr;
      if (span == nullptr && finish.keep != nullptr) span = finish.keep->span();
      if (span != nullptr) spans.push_back(std::move(span));
    }
    return all_.of(spans, "finish", batch.size(), [&] { return store_->finish(batch); });
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return store_->purge(budget);
  }

 private:
  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    auto begun = store_->facets().transactional->begin(options);
    if (!begun) return failure(std::move(begun.error()));
    return std::make_unique<TracedUnit>(*std::move(begun), all_);
  }
  // Claims count even if there is no memory to trace what follows.
  void remember(std::span<const Message* const> messages,
                const std::vector<Claim>& claims) noexcept {
    try {
      for (std::size_t i = 0; i < messages.size() && i < claims.size(); ++i) {
        const auto* const acquired = std::get_if<Acquired>(&claims[i]);
        if (acquired == nullptr || messages[i]->span() == nullptr) continue;
        all_.leases().add(acquired->lease, messages[i]->span());
      }
    } catch (...) {
    }
  }

  const std::unique_ptr<Store> store_;
  StoreSpans all_;
};

}  // namespace

std::unique_ptr<Store> traced(std::unique_ptr<Store> store, Tracer& tracer) {
  return std::make_unique<TracedStore>(std::move(store), tracer);
}

}  // namespace semel::traces
