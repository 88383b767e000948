// What dict.keys(), values() and items() give: one view of a dict, gone over as often as wanted.
#pragma once

#include "jinja/runtime.h"
#include "jinja/value.h"

namespace windrow::jinja {

class DictView final : public Object {
 public:
  enum class Part : uint8_t { kKeys, kValues, kItems };

  DictView(DictPtr dict, Part part) : dict_(std::move(dict)), part_(part) {}

  const char* type_name() const override;
  void print(Runtime& runtime, TextBuilder& out) override;
  bool truth() override { return length() > 0; }
  std::unique_ptr<Iterator> iterate(Runtime& runtime) override;
  bool has_length() const override { return true; }
  int64_t length() override { return static_cast<int64_t>(dict_->entries().size()); }

  // Its values from the last to the first, as reversed() gives them.
  std::vector<Value> collect(Runtime& runtime) const;

 private:
  DictPtr dict_;
  Part part_;
};

// Something that is gone over once: what generators and reversed() give.
class Generator final : public Object {
 public:
  Generator(const char* type, std::unique_ptr<Iterator> items)
      : type_(type), items_(std::move(items)) {}

  const char* type_name() const override { return type_; }
  std::unique_ptr<Iterator> iterate(Runtime& runtime) override;
  bool next(Runtime& runtime, Value& value);

 private:
  const char* type_;
  std::unique_ptr<Iterator> items_;
  bool running_ = false;
};

}  // namespace windrow::jinja
