// How deep the tree of an expression is; what walks it calls itself as often.
#pragma once

#include <algorithm>

#include "jinja/ast.h"
#include "jinja/failure.h"

namespace windrow::jinja {

// A chain of operators makes a tree as deep as the chain is long.
inline constexpr int kTreeDepthMax = 300;

// Of a node with these children, which may be null. Throws Failure when it is too much.
template <class... Children>
void set_depth(Expression& node, const Children&... children) {
  int deepest = 0;
  const auto look = [&](const ExpressionPtr& child) {
    if (child) deepest = std::max(deepest, child->depth);
  };
  (look(children), ...);
  node.depth = std::max(node.depth, deepest + 1);
  if (node.depth > kTreeDepthMax) fail_at(node.offset, "this expression is nested too deep");
}

inline void set_depth(Expression& node, const CallArguments& arguments) {
  for (const auto& argument : arguments.positional)
    set_depth(node, argument);
  for (const auto& argument : arguments.named)
    set_depth(node, argument.second);
  set_depth(node, arguments.list, arguments.dict);
}

}  // namespace windrow::jinja
