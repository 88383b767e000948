#include "api/calls/awaited_load.h"

#include "api/wire/refusals.h"

namespace windrow::api {

AwaitedLoad::AwaitedLoad(const ServedModel& model, std::optional<TimePoint> until)
    : name_(model.name),
      residence_(model.residence),
      until_(until),
      before_(model.residence->status()) {
  residence_->load();
}

std::optional<AwaitedLoad::End> AwaitedLoad::look(TimePoint now) const {
  const llm::ModelStatus reading = residence_->status();
  // It may have come and left since the last look.
  if (reading.state == llm::LoadState::kLoaded || reading.loads > before_.loads) return End{};
  if (reading.loads_failed > before_.loads_failed)
    return End{load_failed(name_, reading.load_error)};
  if (reading.state != llm::LoadState::kLoading && !reading.wanted) return End{not_loaded(name_)};
  if (until_ && now >= *until_) return End{still_loading(name_)};
  return std::nullopt;
}

}  // namespace windrow::api
