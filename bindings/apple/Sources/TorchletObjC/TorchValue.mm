// Values of the C ABI as objects of Foundation, and the way back.
#import "Handles.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace torchlet::apple {
namespace {

// Deeper than that, arrays are taken to hold themselves.
constexpr int kMaxDepth = 200;

NSString* class_name(id object) { return object ? NSStringFromClass([object class]) : @"nil"; }

bool value_of(id object, Value* value, NSError** error, int depth);

// The items of an array as values; `all` owns them.
bool values_of(NSArray* items, std::vector<Value>* all, NSError** error, int depth) {
  const NSUInteger count = [items count];
  for (NSUInteger i = 0; i < count; ++i) {
    all->emplace_back();
    if (!value_of([items objectAtIndex:i], &all->back(), error, depth)) return false;
  }
  return true;
}

std::vector<const torchlet_value*> handles(const std::vector<Value>& values) {
  std::vector<const torchlet_value*> result;
  for (const Value& value : values) result.push_back(value.get());
  return result;
}

bool items_of(NSArray* items, torchlet_kind kind, Value* value, NSError** error, int depth) {
  std::vector<Value> all;
  if (!values_of(items, &all, error, depth + 1)) return false;
  return succeeded(torchlet_value_from_items(kind, handles(all).data(), all.size(), value->out()), error);
}

bool dict_of(NSDictionary* dict, Value* value, NSError** error, int depth) {
  NSArray* names = [dict allKeys];
  std::vector<Value> keys, values;
  if (!values_of(names, &keys, error, depth + 1)) return false;
  for (NSUInteger i = 0; i < [names count]; ++i) {
    values.emplace_back();
    if (!value_of([dict objectForKey:[names objectAtIndex:i]], &values.back(), error, depth + 1)) return false;
  }
  return succeeded(
      torchlet_value_from_dict(handles(keys).data(), handles(values).data(), keys.size(), value->out()), error);
}

// A bool is one of two objects, as its type is written differently from one Foundation to another.
bool number_of(NSNumber* number, Value* value, NSError** error) {
  if (number == [NSNumber numberWithBool:YES] || number == [NSNumber numberWithBool:NO]) {
    return succeeded(torchlet_value_from_bool([number boolValue], value->out()), error);
  }
  const char type = *[number objCType];
  if (type == 'f' || type == 'd') {
    return succeeded(torchlet_value_from_float([number doubleValue], value->out()), error);
  }
  if ((type == 'Q' || type == 'L') && [number unsignedLongLongValue] > INT64_MAX) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"%@ is larger than an int of a model, which has 64 bits with a sign", number]);
    return false;
  }
  return succeeded(torchlet_value_from_int([number longLongValue], value->out()), error);
}

bool text_of(NSString* string, Value* value, NSError** error) {
  NSData* bytes = [string dataUsingEncoding:NSUTF8StringEncoding];
  if (!bytes) {
    refuse(error, TorchletErrorInvalidArgument, @"a string holds half of a surrogate pair, which has no form in UTF-8");
    return false;
  }
  const auto* text = static_cast<const char*>([bytes bytes]);
  return succeeded(torchlet_value_from_string(text ? text : "", [bytes length], value->out()), error);
}

bool value_of(id object, Value* value, NSError** error, int depth) {
  if (depth > kMaxDepth) {
    refuse(error, TorchletErrorInvalidArgument,
           [NSString stringWithFormat:@"an input is nested more than %d levels deep; does an array hold itself?", kMaxDepth]);
    return false;
  }
  if (object == [NSNull null]) return succeeded(torchlet_value_none(value->out()), error);
  if ([object isKindOfClass:[TorchTensor class]]) {
    return succeeded(torchlet_value_from_tensor([static_cast<TorchTensor*>(object) handle], value->out()), error);
  }
  if ([object isKindOfClass:[NSNumber class]]) return number_of(object, value, error);
  if ([object isKindOfClass:[NSString class]]) return text_of(object, value, error);
  if ([object isKindOfClass:[NSArray class]]) return items_of(object, TORCHLET_KIND_LIST, value, error, depth);
  if ([object isKindOfClass:[TorchTuple class]]) {
    return items_of([static_cast<TorchTuple*>(object) items], TORCHLET_KIND_TUPLE, value, error, depth);
  }
  if ([object isKindOfClass:[NSDictionary class]]) return dict_of(object, value, error, depth);
  refuse(error, TorchletErrorInvalidArgument,
         [NSString stringWithFormat:@"%@ is no value of a model: give a TorchTensor, NSNumber, NSString, NSArray, TorchTuple, "
                                     "NSDictionary or NSNull", class_name(object)]);
  return false;
}

id object_of(const torchlet_value* value, NSError** error, int depth);

// One of the items that `get` gives.
template <typename Get>
id item_of(const torchlet_value* value, size_t index, const Get& get, NSError** error, int depth) {
  Value item;
  if (!succeeded(get(value, index, item.out()), error)) return nil;
  return object_of(item.get(), error, depth + 1);
}

NSArray* array_of(const torchlet_value* value, NSError** error, int depth) {
  size_t count = 0;
  if (!succeeded(torchlet_value_size(value, &count), error)) return nil;
  NSMutableArray* items = [NSMutableArray arrayWithCapacity:count];
  for (size_t i = 0; i < count; ++i) {
    id item = item_of(value, i, torchlet_value_item, error, depth);
    if (!item) return nil;
    [items addObject:item];
  }
  return items;
}

NSDictionary* dictionary_of(const torchlet_value* value, NSError** error, int depth) {
  size_t count = 0;
  if (!succeeded(torchlet_value_size(value, &count), error)) return nil;
  NSMutableDictionary* dict = [NSMutableDictionary dictionaryWithCapacity:count];
  for (size_t i = 0; i < count; ++i) {
    id key = item_of(value, i, torchlet_value_key, error, depth);
    id item = key ? item_of(value, i, torchlet_value_item, error, depth) : nil;
    if (!item) return nil;
    if (![key isKindOfClass:[NSString class]] && ![key isKindOfClass:[NSNumber class]]) {
      refuse(error, TorchletErrorUnsupported,
             [NSString stringWithFormat:@"a dict has keys of class %@; strings and numbers alone can be keys of a NSDictionary",
                                        class_name(key)]);
      return nil;
    }
    [dict setObject:item forKey:key];
  }
  return dict;
}

NSString* text_of(const torchlet_value* value, NSError** error) {
  const char* text = nullptr;
  size_t size = 0;
  if (!succeeded(torchlet_value_to_string(value, &text, &size), error)) return nil;
  NSString* string = [[NSString alloc] initWithBytes:text length:size encoding:NSUTF8StringEncoding];
  if (!string) string = [[NSString alloc] initWithBytes:text length:size encoding:NSISOLatin1StringEncoding];
  return TORCHLET_AUTORELEASE(string);
}

id object_of(const torchlet_value* value, NSError** error, int depth) {
  if (depth > kMaxDepth) {
    refuse(error, TorchletErrorUnsupported,
           [NSString stringWithFormat:@"the model's answer is nested more than %d levels deep", kMaxDepth]);
    return nil;
  }
  switch (torchlet_value_kind(value)) {
    case TORCHLET_KIND_NONE:
      return [NSNull null];
    case TORCHLET_KIND_TENSOR: {
      Tensor tensor;
      if (!succeeded(torchlet_value_to_tensor(value, tensor.out()), error)) return nil;
      return TORCHLET_AUTORELEASE([[TorchTensor alloc] initWithTensor:tensor.release()]);
    }
    case TORCHLET_KIND_INT: {
      int64_t number = 0;
      return succeeded(torchlet_value_to_int(value, &number), error) ? [NSNumber numberWithLongLong:number] : nil;
    }
    case TORCHLET_KIND_FLOAT: {
      double number = 0;
      return succeeded(torchlet_value_to_float(value, &number), error) ? [NSNumber numberWithDouble:number] : nil;
    }
    case TORCHLET_KIND_BOOL: {
      int truth = 0;
      return succeeded(torchlet_value_to_bool(value, &truth), error) ? [NSNumber numberWithBool:truth != 0] : nil;
    }
    case TORCHLET_KIND_STRING:
      return text_of(value, error);
    case TORCHLET_KIND_LIST:
      return array_of(value, error, depth);
    case TORCHLET_KIND_TUPLE: {
      NSArray* items = array_of(value, error, depth);
      return items ? [TorchTuple tupleWithItems:items] : nil;
    }
    case TORCHLET_KIND_DICT:
      return dictionary_of(value, error, depth);
    default: {
      Text text;
      if (!succeeded(torchlet_value_describe(value, text.out()), error)) return nil;
      refuse(error, TorchletErrorUnsupported,
             [NSString stringWithFormat:@"the model's answer holds what has no form in Foundation: %@", string_of(text.get())]);
      return nil;
    }
  }
}

}  // namespace

bool value_of(id object, Value* value, NSError** error) { return value_of(object, value, error, 0); }
id object_of(const torchlet_value* value, NSError** error) { return object_of(value, error, 0); }

}  // namespace torchlet::apple

@implementation TorchTuple

+ (instancetype)tupleWithItems:(NSArray*)items {
  TorchTuple* tuple = [[self alloc] init];
  if (tuple) tuple->_items = items ? [items copy] : [[NSArray alloc] init];
  return TORCHLET_AUTORELEASE(tuple);
}

- (void)dealloc {
  TORCHLET_RELEASE(_items);
  TORCHLET_SUPER_DEALLOC();
}

- (NSArray*)items {
  return _items;
}

- (NSString*)description {
  return [NSString stringWithFormat:@"TorchTuple %@", _items];
}

@end
