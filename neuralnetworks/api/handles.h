// Handles of the C API. A handle is a number and no address: it names an object as long as that is
// not freed, and nothing afterwards, so that any pointer that an application passes is found or
// refused and never followed. Freeing only takes the name away; whoever uses the object holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "neuralnetworks/api/answer.h"

namespace torchlet::nn {

// Thread-safe.
class HandleTable {
 public:
  uintptr_t add(std::shared_ptr<void> object);
  // Null if the handle is none of this table.
  std::shared_ptr<void> find(uintptr_t handle) const;
  std::shared_ptr<void> remove(uintptr_t handle);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<void>> objects_;
};

// Of the objects of one kind. Never destroyed: threads may use it while the process ends. An Object
// says which handle names it, and what it is called: Object::Handle, Object::kName.
template <typename Object>
HandleTable& table_of() {
  static HandleTable& table = *new HandleTable;
  return table;
}

template <typename Object>
typename Object::Handle* make_handle(std::shared_ptr<Object> object) {
  return reinterpret_cast<typename Object::Handle*>(table_of<Object>().add(std::move(object)));
}

// UNEXPECTED_NULL if the handle is null, BAD_DATA if it names no object of this kind.
template <typename Object>
std::shared_ptr<Object> find(const typename Object::Handle* handle) {
  require(handle, Object::kName);
  auto found = table_of<Object>().find(reinterpret_cast<uintptr_t>(handle));
  if (!found) refuse(ANEURALNETWORKS_BAD_DATA, "%s is none, or was freed", Object::kName);
  return std::static_pointer_cast<Object>(std::move(found));
}

// Null if there was no such object.
template <typename Object>
std::shared_ptr<Object> free_handle(const char* function, typename Object::Handle* handle) {
  if (!handle) return nullptr;
  auto found = table_of<Object>().remove(reinterpret_cast<uintptr_t>(handle));
  if (!found) log("%s: %s is none, or was freed before", function, Object::kName);
  return std::static_pointer_cast<Object>(std::move(found));
}

}  // namespace torchlet::nn
