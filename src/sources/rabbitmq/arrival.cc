#include "sources/rabbitmq/arrival.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "clients/rabbitmq/amqp_values.h"

namespace semel::rabbitmq {
namespace {

// 12345 with two decimals is 123.45.
std::string decimal_text(const amqp_decimal_t& decimal) {
  std::string digits = std::to_string(decimal.value);
  const std::size_t decimals = decimal.decimals;
  if (decimals == 0) return digits;
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  return digits.insert(digits.size() - decimals, ".");
}

std::optional<std::int64_t> integer_of(const amqp_field_value_t& field) {
  switch (field.kind) {
    case AMQP_FIELD_KIND_I8:
      return field.value.i8;
    case AMQP_FIELD_KIND_U8:
      return field.value.u8;
    case AMQP_FIELD_KIND_I16:
      return field.value.i16;
    case AMQP_FIELD_KIND_U16:
      return field.value.u16;
    case AMQP_FIELD_KIND_I32:
      return field.value.i32;
    case AMQP_FIELD_KIND_U32:
      return field.value.u32;
    case AMQP_FIELD_KIND_I64:
      return field.value.i64;
    default:
      return std::nullopt;
  }
}

// A producer may nest values at will; deeper ones become null.
constexpr int kDeepest = 64;

void write_json(json::Writer& writer, const amqp_field_value_t& field, int depth);

void write_table(json::Writer& writer, const amqp_table_t& table, int depth) {
  writer.begin_object();
  for (int i = 0; i < table.num_entries; ++i) {
    writer.name(view_of(table.entries[i].key));
    write_json(writer, table.entries[i].value, depth);
  }
  writer.end_object();
}

void write_list(json::Writer& writer, const amqp_array_t& list, int depth) {
  writer.begin_array();
  for (int i = 0; i < list.num_entries; ++i) write_json(writer, list.entries[i], depth);
  writer.end_array();
}

void write_json(json::Writer& writer, const amqp_field_value_t& field, int depth) {
  if (depth > kDeepest) {
    writer.null();
    return;
  }
  if (const auto integer = integer_of(field)) {
    writer.value(*integer);
    return;
  }
  switch (field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
      writer.value(field.value.boolean != 0);
      break;
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
      writer.value(field.value.u64);
      break;
    case AMQP_FIELD_KIND_F32:
      writer.value(static_cast<double>(field.value.f32));
      break;
    case AMQP_FIELD_KIND_F64:
      writer.value(field.value.f64);
      break;
    case AMQP_FIELD_KIND_DECIMAL:
      writer.value(decimal_text(field.value.decimal));
      break;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      writer.value(view_of(field.value.bytes));
      break;
    case AMQP_FIELD_KIND_TABLE:
      write_table(writer, field.value.table, depth + 1);
      break;
    case AMQP_FIELD_KIND_ARRAY:
      write_list(writer, field.value.array, depth + 1);
      break;
    default:
      writer.null();
  }
}

Bytes text_of(const amqp_field_value_t& field) {
  switch (field.kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return Bytes(view_of(field.value.bytes));
    case AMQP_FIELD_KIND_DECIMAL:
      return decimal_text(field.value.decimal);
    case AMQP_FIELD_KIND_VOID:
      return {};
    default:
      json::Writer writer;
      write_json(writer, field, 0);
      return writer.text();
  }
}

// Adds each property that has no field of its own in an arrival.
void add_properties(const amqp_basic_properties_t& properties, Headers& headers) {
  const auto add = [&](amqp_flags_t flag, const char* name, const amqp_bytes_t& value) {
    if ((properties._flags & flag) != 0) headers.push_back({name, Bytes(view_of(value))});
  };
  add(AMQP_BASIC_MESSAGE_ID_FLAG, "amqp-message-id", properties.message_id);
  add(AMQP_BASIC_CORRELATION_ID_FLAG, "amqp-correlation-id", properties.correlation_id);
  add(AMQP_BASIC_REPLY_TO_FLAG, "amqp-reply-to", properties.reply_to);
  add(AMQP_BASIC_CONTENT_ENCODING_FLAG, "amqp-content-encoding", properties.content_encoding);
  add(AMQP_BASIC_TYPE_FLAG, "amqp-type", properties.type);
  add(AMQP_BASIC_USER_ID_FLAG, "amqp-user-id", properties.user_id);
  add(AMQP_BASIC_APP_ID_FLAG, "amqp-app-id", properties.app_id);
  if ((properties._flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) {
    headers.push_back({"amqp-timestamp", std::to_string(properties.timestamp)});
  }
}

}  // namespace

std::unique_ptr<Arrival> arrival_of(const amqp_basic_properties_t_& properties) {
  auto made = std::make_unique<Arrival>();
  Arrival& arrival = *made;
  const auto has = [&](amqp_flags_t flag) { return (properties._flags & flag) != 0; };
  if (has(AMQP_BASIC_HEADERS_FLAG)) {
    for (int i = 0; i < properties.headers.num_entries; ++i) {
      const amqp_table_entry_t& entry = properties.headers.entries[i];
      arrival.headers.push_back({std::string(view_of(entry.key)), text_of(entry.value)});
    }
  }
  add_properties(properties, arrival.headers);
  if (has(AMQP_BASIC_CONTENT_TYPE_FLAG)) arrival.content_type = view_of(properties.content_type);
  if (has(AMQP_BASIC_TYPE_FLAG)) arrival.type = view_of(properties.type);
  if (has(AMQP_BASIC_MESSAGE_ID_FLAG) && properties.message_id.len > 0) {
    arrival.broker_key = Bytes(view_of(properties.message_id));
  }
  return made;
}

std::int64_t brought_before(const Headers& headers) {
  const auto text = find_header(headers, "x-delivery-count");
  if (!text) return 0;
  std::int64_t count = 0;
  std::from_chars(text->data(), text->data() + text->size(), count);
  return count;
}

bool is_of_stream(const Headers& headers) {
  return find_header(headers, "x-stream-offset").has_value();
}

}  // namespace semel::rabbitmq
