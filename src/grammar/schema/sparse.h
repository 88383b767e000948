// Sparse: a value that is nearly always the default one, and takes no room then. A copy is deep.
#pragma once

#include <memory>
#include <utility>

namespace windrow::grammar {

template <class T>
class Sparse {
 public:
  Sparse() = default;
  Sparse(const Sparse& other)
      : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Sparse(Sparse&&) noexcept = default;
  Sparse& operator=(const Sparse& other) { return *this = Sparse(other); }
  Sparse& operator=(Sparse&&) noexcept = default;
  ~Sparse() = default;

  Sparse& operator=(T value) {
    edit() = std::move(value);
    return *this;
  }

  explicit(false) operator const T&() const { return value_ ? *value_ : none(); }
  const T* operator->() const { return value_ ? value_.get() : &none(); }

  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

 private:
  static const T& none() {
    static const T kNone;
    return kNone;
  }

  std::unique_ptr<T> value_;
};

}  // namespace windrow::grammar
