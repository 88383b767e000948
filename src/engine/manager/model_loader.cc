#include "engine/manager/model_loader.h"

#include <utility>

namespace windrow::engine {

ModelLoader::ModelLoader(const Clock& clock, std::function<void(const ModelEvent&)> on_event)
    : clock_(clock), on_event_(std::move(on_event)) {}

ModelLoader::~ModelLoader() {
  stop();
}

void ModelLoader::check(const ManagedModel& model, std::function<void(const Result<void>&)> done) {
  post([this, &model, done = std::move(done)] {
    const Result<void> checked = model.check ? model.check() : Result<void>();
    done(checked);
    if (!checked) {
      emit({.kind = ModelEvent::Kind::kFailed, .name = model.name, .why = checked.error().message});
    }
  });
}

void ModelLoader::load(const ManagedModel& model, std::function<void(Result<Loaded>)> done) {
  post([this, &model, done = std::move(done)] {
    const TimePoint begun = clock_.now();
    ModelEvent event{.kind = ModelEvent::Kind::kLoading, .name = model.name};
    emit(event);
    Result<std::unique_ptr<LoadedModel>> loaded = model.load(stop_.get_token());
    event.took = clock_.now() - begun;
    if (loaded) {
      event.kind = ModelEvent::Kind::kLoaded;
      event.bytes = (*loaded)->bytes();
      done(Loaded{.model = *std::move(loaded), .bytes = event.bytes, .took = event.took});
    } else {
      event.kind = ModelEvent::Kind::kFailed;
      event.why = loaded.error().message;
      done(loaded.error());
    }
    emit(event);
  });
}

void ModelLoader::unload(const ManagedModel& model, SharedModel& shared, uint64_t bytes,
                         std::function<void()> done) {
  post([this, &model, &shared, bytes, done = std::move(done)] {
    shared.take().reset();
    done();
    emit({.kind = ModelEvent::Kind::kUnloaded, .name = model.name, .bytes = bytes});
  });
}

void ModelLoader::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stop_.request_stop();
  thread_.stop();
}

void ModelLoader::post(async::Executor::Task task) {
  const std::scoped_lock lock(mutex_);
  if (stopping_) return;
  thread_.post([this, task = std::move(task)] {
    if (!stop_.stop_requested()) task();
  });
}

void ModelLoader::emit(const ModelEvent& event) const {
  if (on_event_ && !stop_.stop_requested()) on_event_(event);
}

}  // namespace windrow::engine
