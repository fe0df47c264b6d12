// Python's list methods. Lists are shared by reference: what changes one changes it for everybody.
#include <algorithm>

#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/integer_math.h"

namespace torchlet::ops {
namespace {

using ListRef = const Ref<List>&;

size_t wrap_index(int64_t index, size_t size) {
  const int64_t count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  TORCHLET_CHECK(index >= 0 && index < count, "list index out of range");
  return static_cast<size_t>(index);
}

// Comparing long strings takes long, and so polls.
bool items_equal(const Value& a, const Value& b) {
  poll();
  if (a.is_tensor() && b.is_tensor()) {
    static const Operator* const equal = find_operator("aten::equal", "");
    Value args[] = {a, b}, result;
    equal->call(args, {&result, 1});
    return result.to_bool();
  }
  return values_equal(a, b);
}

bool less(const Value& a, const Value& b) {
  poll();
  if (a.is_string()) return a.to_string() < b.to_string();
  if (a.is_float() || b.is_float()) return a.to_double() < b.to_double();
  if (a.is_int() || a.is_bool()) return a.to_int() < b.to_int();
  if (a.is_tensor()) return a.to_scalar().to_double() < b.to_scalar().to_double();
  if (a.is_tuple()) {
    const DepthGuard guard;
    const auto &x = a.tuple_ref().items, &y = b.tuple_ref().items;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less);
  }
  if (a.is_object()) {  // script classes are ordered by __lt__, which only the interpreter can call
    fail(ErrorCode::kUnsupported,
         "sorting objects of a script class is not supported: sort by a key");
  }
  fail(ErrorCode::kRuntime, "'<' not supported for %s", a.kind_name());
}

void sort_items(std::vector<Value>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [reverse](const Value& a, const Value& b) {
    return reverse ? less(b, a) : less(a, b);
  });
}

Value copy_of(ListRef list) { return make_list(list->element_type, list->items); }

Value slice_of(ListRef list, std::optional<int64_t> start, std::optional<int64_t> end,
               int64_t step) {
  TORCHLET_CHECK(step != 0, "slice step cannot be zero");
  const int64_t size = static_cast<int64_t>(list->items.size());
  auto clamp = [&](std::optional<int64_t> i, int64_t missing) {
    if (!i) return missing;
    const int64_t low = step > 0 ? 0 : -1;
    return std::clamp<int64_t>(*i < 0 ? *i + size : *i, low, step > 0 ? size : size - 1);
  };
  const int64_t first = clamp(start, step > 0 ? 0 : size - 1);
  const int64_t last = clamp(end, step > 0 ? size : -1);
  std::vector<Value> items;
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    items.push_back(list->items[static_cast<size_t>(i)]);
    if (step > size || step < -size) break;
  }
  return make_list(list->element_type, std::move(items));
}

Value repeated(ListRef list, int64_t count) {
  std::vector<Value> items;
  if (!list->items.empty()) {
    // Fewer than zero times is an error, as in PyTorch, unless nothing is repeated.
    TORCHLET_CHECK(count >= 0, "a list cannot be repeated %lld times",
                   static_cast<long long>(count));
    require_memory(count, list->items.size() * sizeof(Value), "repetitions of a list");
    items.reserve(list->items.size() * static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      items.insert(items.end(), list->items.begin(), list->items.end());
    }
  }
  return make_list(list->element_type, std::move(items));
}

// `from` may be `to`.
void append_all(ListRef to, ListRef from) {
  const size_t count = from->items.size();
  to->grow(count);
  for (size_t i = 0; i < count; ++i) to->items.push_back(from->items[i]);
}

bool lists_equal(ListRef a, ListRef b) {
  return std::equal(a->items.begin(), a->items.end(), b->items.begin(), b->items.end(),
                    items_equal);
}

auto find_item(ListRef list, const Value& item) {
  return std::find_if(list->items.begin(), list->items.end(),
                      [&](const Value& other) { return items_equal(other, item); });
}

template <bool kMax>
Value extreme(ListRef list) {
  TORCHLET_CHECK(!list->items.empty(), "%s() arg is an empty sequence", kMax ? "max" : "min");
  return *(kMax ? std::max_element(list->items.begin(), list->items.end(), less)
                : std::min_element(list->items.begin(), list->items.end(), less));
}

// The lexicographically larger or smaller of two lists.
template <bool kMax>
Value extreme_list(ListRef a, ListRef b) {
  const bool a_first = std::lexicographical_compare(a->items.begin(), a->items.end(),
                                                    b->items.begin(), b->items.end(), less);
  return Value(a_first == kMax ? b : a);
}

}  // namespace

TORCHLET_OP(append_t, "aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)",
            [](ListRef self, const Value& item) {
              self->grow(1);
              self->items.push_back(item);
              return Value(self);
            });
TORCHLET_OP(extend_t, "aten::extend.t(t[](a!) self, t[] other) -> ()",
            [](ListRef self, ListRef other) { append_all(self, other); });
TORCHLET_OP(add_t, "aten::add.t(t[] a, t[] b) -> t[]", [](ListRef a, ListRef b) {
  auto sum = make_ref<List>(a->element_type, std::vector<Value>());
  append_all(sum, a);
  append_all(sum, b);
  return Value(std::move(sum));
});
TORCHLET_OP(add__t, "aten::add_.t(t[](a!) self, t[] b) -> t[]", [](ListRef self, ListRef other) {
  append_all(self, other);
  return Value(self);
});
TORCHLET_OP(insert_t, "aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()",
            [](ListRef self, int64_t index, const Value& item) {
              const int64_t size = static_cast<int64_t>(self->items.size());
              if (index < 0) index = std::max<int64_t>(index + size, 0);
              self->grow(1);
              self->items.insert(self->items.begin() + std::min(index, size), item);
            });
TORCHLET_OP(pop_t, "aten::pop.t(t[](a!) self, int idx=-1) -> t(*)",
            [](ListRef self, int64_t index) {
              TORCHLET_CHECK(!self->items.empty(), "pop from empty list");
              const size_t at = wrap_index(index, self->items.size());
              Value item = std::move(self->items[at]);
              self->items.erase(self->items.begin() + static_cast<std::ptrdiff_t>(at));
              return item;
            });
TORCHLET_OP(Delete_t, "aten::Delete.t(t[](a!) self, int idx) -> ()",
            [](ListRef self, int64_t index) {
              const size_t at = wrap_index(index, self->items.size());
              self->items.erase(self->items.begin() + static_cast<std::ptrdiff_t>(at));
            });
TORCHLET_OP(clear_t, "aten::clear.t(t[](a!) self) -> ()",
            [](ListRef self) { self->items.clear(); });
TORCHLET_OP(reverse_t, "aten::reverse.t(t[](a!) self) -> ()",
            [](ListRef self) { std::reverse(self->items.begin(), self->items.end()); });
TORCHLET_OP(copy_t, "aten::copy.t(t[](a) self) -> t[]", copy_of);
TORCHLET_OP(list_t, "aten::list.t(t[] l) -> t[]", copy_of);
TORCHLET_OP_WITH(len_t, never_raises(), "aten::len.t(t[] a) -> int",
                 [](ListRef list) { return static_cast<int64_t>(list->items.size()); });
TORCHLET_OP_WITH(len_any, never_raises(), "aten::len.any(Any[] a) -> int",
                 [](const Value& list) { return static_cast<int64_t>(list.to_list().size()); });
TORCHLET_OP(getitem_t, "aten::__getitem__.t(t[](a) list, int idx) -> t(*)",
            [](ListRef list, int64_t index) {
              return list->items[wrap_index(index, list->items.size())];
            });
TORCHLET_OP(select_t, "aten::select.t(t[](a) list, int idx) -> t(*)",
            [](ListRef list, int64_t index) {
              return list->items[wrap_index(index, list->items.size())];
            });
TORCHLET_OP(set_item_t, "aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)",
            [](ListRef list, int64_t index, const Value& item) {
              list->items[wrap_index(index, list->items.size())] = item;
              return Value(list);
            });
TORCHLET_OP(slice_t, "aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
            slice_of);
TORCHLET_OP(mul_left_t, "aten::mul.left_t(t[] l, int n) -> t[]", repeated);
TORCHLET_OP(mul_right, "aten::mul.right_(int n, t[] l) -> t[]",
            [](int64_t count, ListRef list) { return repeated(list, count); });
TORCHLET_OP(mul__t, "aten::mul_.t(t[](a!) l, int n) -> t[](a!)", [](ListRef list, int64_t count) {
  const Value all = repeated(list, count);
  const std::vector<Value>& items = all.list_ref().items;
  list->grow(std::max(items.size(), list->items.size()) - list->items.size());
  list->items = items;
  return Value(list);
});

TORCHLET_OP_WITH(index_list, per_type("bool float int str Tensor"),
                 "aten::index.list_$($[] self, $ el) -> int", [](ListRef self, const Value& item) {
                   const auto found = find_item(self, item);
                   TORCHLET_CHECK(found != self->items.end(), "'%s' is not in list",
                                  to_text(item).c_str());
                   return static_cast<int64_t>(found - self->items.begin());
                 });
TORCHLET_OP_WITH(remove_list, per_type("bool float int str Tensor"),
                 "aten::remove.$($[](a!) self, $ el) -> ()", [](ListRef self, const Value& item) {
                   const auto found = find_item(self, item);
                   TORCHLET_CHECK(found != self->items.end(), "list.remove(x): x not in list");
                   self->items.erase(found);
                 });
TORCHLET_OP_WITH(count_list, per_type("bool float int str Tensor"),
                 "aten::count.$($[] self, $ el) -> int", [](ListRef self, const Value& item) {
                   return static_cast<int64_t>(
                       std::count_if(self->items.begin(), self->items.end(),
                                     [&](const Value& other) { return items_equal(other, item); }));
                 });
TORCHLET_OP_WITH(contains_list, per_type("int float str"),
                 "aten::__contains__.$_list($[] l, $ item) -> bool",
                 [](ListRef list, const Value& item) {
                   return find_item(list, item) != list->items.end();
                 });
TORCHLET_OP_WITH(eq_list, per_type("bool float int str Tensor"),
                 "aten::eq.$_list($[] a, $[] b) -> bool", lists_equal);
TORCHLET_OP_WITH(ne_list, per_type("bool float int str Tensor"),
                 "aten::ne.$_list($[] a, $[] b) -> bool",
                 [](ListRef a, ListRef b) { return !lists_equal(a, b); });
TORCHLET_OP_WITH(sort_list, per_type("bool float int str Tensor"),
                 "aten::sort.$($[](a!) self, bool reverse=False) -> ()",
                 [](ListRef self, bool reverse) { sort_items(self->items, reverse); });
TORCHLET_OP(sort_any, "aten::sort.any(t[](a!) self, bool reverse=False) -> ()",
            [](ListRef self, bool reverse) { sort_items(self->items, reverse); });
TORCHLET_OP_WITH(sorted_list, per_type("bool float int str Tensor") | may_alias(),
                 "aten::sorted.$($[](a) input) -> $[]", [](ListRef list) {
                   std::vector<Value> items = list->items;
                   sort_items(items, false);
                   return make_list(list->element_type, std::move(items));
                 });
TORCHLET_OP_WITH(sorted_any, may_alias(), "aten::sorted.any(t[](a) self) -> t[]", [](ListRef list) {
  std::vector<Value> items = list->items;
  sort_items(items, false);
  return make_list(list->element_type, std::move(items));
});
TORCHLET_OP_WITH(max_self, per_type("int float bool"), "prim::max.self_$($[] self) -> $",
                 extreme<true>);
TORCHLET_OP_WITH(min_self, per_type("int float bool"), "prim::min.self_$($[] self) -> $",
                 extreme<false>);
TORCHLET_OP_WITH(max_lists, per_type("int float bool"), "prim::max.$_list($[] l, $[] r) -> $[]",
                 extreme_list<true>);
TORCHLET_OP_WITH(min_lists, per_type("int float bool"), "prim::min.$_list($[] l, $[] r) -> $[]",
                 extreme_list<false>);
TORCHLET_OP(sum_int_list, "aten::sum.int(int[] self) -> int", [](ListRef list) {
  int64_t sum = 0;
  for (const Value& item : list->items) sum = wrap_add(sum, item.to_int());
  return sum;
});
TORCHLET_OP(sum_bool_list, "aten::sum.bool(bool[] self) -> int", [](ListRef list) {
  int64_t sum = 0;
  for (const Value& item : list->items) sum = wrap_add(sum, item.to_int());
  return sum;
});
TORCHLET_OP(sum_float_list, "aten::sum.float(float[] self) -> float", [](ListRef list) {
  double sum = 0;
  for (const Value& item : list->items) sum += item.to_double();
  return sum;
});
TORCHLET_OP(sum_complex_list, "aten::sum.complex(complex[] self) -> complex", [](ListRef list) {
  std::complex<double> sum = 0;
  for (const Value& item : list->items) sum += item.to_complex();
  return sum;
});
TORCHLET_OP_WITH(all_list, per_type("bool float int"), "aten::all.$($[] self) -> bool",
                 [](ListRef list) {
                   return std::all_of(list->items.begin(), list->items.end(),
                                      [](const Value& item) { return item.to_double() != 0; });
                 });
TORCHLET_OP_WITH(any_list, per_type("bool float int"), "aten::any.$($[] self) -> bool",
                 [](ListRef list) {
                   return std::any_of(list->items.begin(), list->items.end(),
                                      [](const Value& item) { return item.to_double() != 0; });
                 });
TORCHLET_OP(any_str_list, "aten::any.str(str[] self) -> bool", [](ListRef list) {
  return std::any_of(list->items.begin(), list->items.end(),
                     [](const Value& item) { return !item.to_string().empty(); });
});
TORCHLET_OP_WITH(Size, may_alias(), "aten::Size(int[] sizes) -> int[]",
                 [](const Value& sizes) { return sizes; });
TORCHLET_OP(rangelist, "prim::rangelist(int n) -> int[]", [](int64_t n) {
  TORCHLET_CHECK(n >= 0, "range(%lld) is no list", static_cast<long long>(n));
  require_memory(n, sizeof(Value), "numbers of a range");
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) items.emplace_back(i);
  return make_list(types::integer(), std::move(items));
});

}  // namespace torchlet::ops
