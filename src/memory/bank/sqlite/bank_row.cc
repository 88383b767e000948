#include "memory/bank/sqlite/bank_row.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "json/parse.h"
#include "json/values.h"

namespace windrow::memory {
namespace {

std::string settings_text(const Bank& bank) {
  const boost::json::object settings = {
      {"name", bank.name},
      {"mission", bank.mission},
      {"background", bank.background},
      {"disposition",
       {{"skepticism", bank.disposition.skepticism},
        {"literalism", bank.disposition.literalism},
        {"empathy", bank.disposition.empathy}}},
      {"overrides", bank.overrides},
  };
  return boost::json::serialize(settings);
}

int32_t trait(const boost::json::object& disposition, std::string_view name) {
  constexpr int32_t kMiddle = 3;
  const boost::json::value* const value = disposition.if_contains(name);
  if (value == nullptr || !value->is_int64()) return kMiddle;
  return static_cast<int32_t>(value->get_int64());
}

Result<void> read_settings(std::string_view text, Bank& bank) {
  const std::variant<boost::json::value, JsonFault> parsed = parse_json(text);
  const auto* const value = std::get_if<boost::json::value>(&parsed);
  const boost::json::object* const settings = value == nullptr ? nullptr : value->if_object();
  if (settings == nullptr)
    return Error{ErrorKind::kInvalid,
                 "the settings of the bank are damaged: they are no JSON object"};
  bank.name = text_in(*settings, "name");
  bank.mission = text_in(*settings, "mission");
  bank.background = text_in(*settings, "background");
  if (const auto* const overrides = object_in(*settings, "overrides")) bank.overrides = *overrides;
  if (const auto* const disposition = object_in(*settings, "disposition")) {
    bank.disposition = {.skepticism = trait(*disposition, "skepticism"),
                        .literalism = trait(*disposition, "literalism"),
                        .empathy = trait(*disposition, "empathy")};
  }
  return {};
}

}  // namespace

Result<Bank> read_bank(const Queries& queries) {
  std::optional<Bank> bank;
  Result<void> read;
  const Result<void> asked = queries.ask(
      "SELECT id, owner, settings, embedding_size, embedding_model, created, updated, "
      "last_consolidated FROM bank",
      {}, [&](const store::DatabaseRow& row) {
        bank.emplace();
        bank->id = BankId{row.text(0)};
        bank->owner = row.text(1);
        read = read_settings(row.bytes(2), *bank);
        bank->embedding_size = static_cast<int32_t>(row.number(3));
        bank->embedding_model = row.text(4);
        bank->created = row.number(5);
        bank->updated = row.number(6);
        bank->last_consolidated = row.number_or_none(7);
      });
  if (!asked) return asked.error();
  if (!read) return read.error();
  if (!bank) return Error{ErrorKind::kNotFound, "there is no bank in the file"};
  return *std::move(bank);
}

Result<void> add_bank(BankChange& change, const Bank& bank) {
  return change.run(
      "INSERT INTO bank (one, id, owner, settings, embedding_size, embedding_model, created, "
      "updated, last_consolidated) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
      {bank.id.text, bank.owner, settings_text(bank), int64_t{bank.embedding_size},
       bank.embedding_model, bank.created, bank.updated, store::value_of(bank.last_consolidated)});
}

Result<Bank> edit_bank_row(BankChange& change, const std::function<Result<void>(Bank&)>& edit) {
  const Result<Bank> before = read_bank(change.queries());
  if (!before) return before;
  Bank bank = *before;
  if (Result<void> edited = edit(bank); !edited) return edited.error();
  if (bank.id != before->id) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the id of a bank cannot change: it is \"{}\"", before->id.text)};
  }
  if (before->embedding_size != 0 &&
      (bank.embedding_size != before->embedding_size ||
       (bank.embedding_model != before->embedding_model && !before->embedding_model.empty()))) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("the bank \"{}\" has vectors of {} numbers of the embedding model \"{}\", and "
                    "those of other models do not compare with them: keep that model, or make a "
                    "new bank",
                    bank.id.text, before->embedding_size, before->embedding_model)};
  }
  const Result<void> written = change.run(
      "UPDATE bank SET owner = ?, settings = ?, embedding_size = ?, embedding_model = ?, "
      "created = ?, updated = ?, last_consolidated = ?",
      {bank.owner, settings_text(bank), int64_t{bank.embedding_size}, bank.embedding_model,
       bank.created, bank.updated, store::value_of(bank.last_consolidated)});
  if (!written) return written.error();
  return bank;
}

}  // namespace windrow::memory
