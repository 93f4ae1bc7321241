// Binds a row of the schema to a member of a struct that users of the library fill themselves: the
// row's default is the member's, and a written value is assigned to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "config/scalars.h"
#include "config/schema.h"
#include "config/settings.h"

namespace semel::config {

template <class M>
struct MemberTypes;
template <class T, class V>
struct MemberTypes<V T::*> {
  using Owner = T;
  using Value = V;
};

template <class V>
inline constexpr bool kIsDuration = false;
template <class R, class P>
inline constexpr bool kIsDuration<std::chrono::duration<R, P>> = true;
template <class V>
inline constexpr bool kIsOptional = false;
template <class V>
inline constexpr bool kIsOptional<std::optional<V>> = true;

// The words of a field are in the order of their enumerators; any other value has the index after
// the last one.
std::size_t index_of_word(const Setting& setting);
std::string word_at(const Field& field, std::size_t index);
// A number, a size or a duration, formatted for its field.
std::string quantity_text(const Field& field, std::int64_t value);
std::string real_text(double value);

template <class V>
V value_of(const Setting& setting) {
  if constexpr (std::is_same_v<V, bool>) {
    return setting.number != 0;
  } else if constexpr (std::is_enum_v<V>) {
    return static_cast<V>(index_of_word(setting));
  } else if constexpr (std::is_floating_point_v<V>) {
    return setting.real;
  } else if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(setting.number);
  } else if constexpr (kIsDuration<V>) {
    return std::chrono::duration_cast<V>(std::chrono::milliseconds(setting.number));
  } else if constexpr (kIsOptional<V>) {
    return setting.word ? V() : V(value_of<typename V::value_type>(setting));
  } else {
    static_assert(std::is_same_v<V, std::string>);
    return setting.text;
  }
}

template <class V>
std::string text_of(const Field& field, const V& value) {
  if constexpr (std::is_same_v<V, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<V>) {
    return word_at(field, static_cast<std::size_t>(value));
  } else if constexpr (std::is_floating_point_v<V>) {
    return real_text(value);
  } else if constexpr (std::is_integral_v<V>) {
    return quantity_text(field, static_cast<std::int64_t>(value));
  } else if constexpr (kIsDuration<V>) {
    return quantity_text(field, std::chrono::milliseconds(value).count());
  } else if constexpr (kIsOptional<V>) {
    // nullopt is the field's first word; without words there is no default.
    return value ? text_of(field, *value) : word_at(field, 0);
  } else {
    static_assert(std::is_same_v<V, std::string>);
    return value;
  }
}

template <auto M>
struct OneMember {
  using Owner = typename MemberTypes<decltype(M)>::Owner;
  using Value = typename MemberTypes<decltype(M)>::Value;

  static std::string fallback(const Field& field) { return text_of(field, Owner().*M); }
  static void put(const Setting& setting, void* object) {
    static_cast<Owner*>(object)->*M = value_of<Value>(setting);
  }
};
// The row of one member.
template <auto M>
inline constexpr Member kMember{&typeid(typename OneMember<M>::Owner), OneMember<M>::fallback,
                                OneMember<M>::put};

// A range of durations, whose ends are two members.
template <auto First, auto Last>
struct TwoEnds {
  using Owner = typename MemberTypes<decltype(First)>::Owner;
  using Value = typename MemberTypes<decltype(First)>::Value;

  static std::string fallback(const Field& field) {
    const Owner made;
    return text_of(field, made.*First) + ".." + text_of(field, made.*Last);
  }
  static void put(const Setting& setting, void* object) {
    static_cast<Owner*>(object)->*First = Value(setting.number);
    static_cast<Owner*>(object)->*Last = Value(setting.upper);
  }
};
template <auto First, auto Last>
inline constexpr Member kRange{&typeid(typename TwoEnds<First, Last>::Owner),
                               TwoEnds<First, Last>::fallback, TwoEnds<First, Last>::put};

// A word, or a value for the second member: then the first is the enumerator after all words.
template <auto Word, auto Value>
struct WordOrValue {
  using Owner = typename MemberTypes<decltype(Word)>::Owner;
  using Enum = typename MemberTypes<decltype(Word)>::Value;

  static std::string fallback(const Field& field) { return text_of(field, Owner().*Word); }
  static void put(const Setting& setting, void* object) {
    static_cast<Owner*>(object)->*Word = value_of<Enum>(setting);
    if (!setting.word) OneMember<Value>::put(setting, object);
  }
};
template <auto Word, auto Value>
inline constexpr Member kWordOr{&typeid(typename WordOrValue<Word, Value>::Owner),
                                WordOrValue<Word, Value>::fallback, WordOrValue<Word, Value>::put};

}  // namespace semel::config
