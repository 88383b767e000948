#include "memory/bank/embedding_model.h"

#include <fmt/format.h>

namespace windrow::memory {

Result<void> check_embedding_model(const Bank& bank, std::string_view model) {
  if (bank.embedding_size == 0 || bank.embedding_model.empty() || bank.embedding_model == model)
    return {};
  return Error{
      ErrorKind::kConflict,
      fmt::format("the vectors of bank \"{}\" are those of the model \"{}\", and \"{}\" is "
                  "asked now; set embed_model of the bank, or --memory-embed, to the "
                  "first, or make a new bank",
                  bank.id.text, bank.embedding_model, model)};
}

Result<void> take_embedding_model(BankStore& store, std::string_view model) {
  const Result<Bank> bank = store.bank();
  if (!bank) return bank.error();
  const Result<void> fits = check_embedding_model(*bank, model);
  if (!fits) return fits.error();
  if (bank->embedding_model == model) return {};
  const Result<Bank> edited = store.edit_bank([model](Bank& edit) -> Result<void> {
    const Result<void> still_fits = check_embedding_model(edit, model);
    if (!still_fits) return still_fits.error();
    edit.embedding_model = model;
    return {};
  });
  if (!edited) return edited.error();
  return {};
}

}  // namespace windrow::memory
