// What Clang and Apple's Foundation have, for GCC's Objective-C and GNUstep's Foundation, which lack some of it. The headers
// compile with both; the sources with and without ARC.
#pragma once

#import <Foundation/Foundation.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if __has_feature(objc_generics)
#define TORCHLET_OF(...) <__VA_ARGS__>
#else
#define TORCHLET_OF(...)
#endif

#if !__has_feature(nullability)
#define _Nullable
#define _Nonnull
#endif
#ifndef NS_ASSUME_NONNULL_BEGIN
#define NS_ASSUME_NONNULL_BEGIN
#define NS_ASSUME_NONNULL_END
#endif
#ifndef NS_DESIGNATED_INITIALIZER
#define NS_DESIGNATED_INITIALIZER
#endif
#ifndef NS_UNAVAILABLE
#define NS_UNAVAILABLE
#endif
#ifndef NS_SWIFT_NAME
#define NS_SWIFT_NAME(name)
#endif
#ifndef NS_ERROR_ENUM
#define NS_ERROR_ENUM(domain, name) \
  NSInteger name;                   \
  enum
#endif

#ifdef __cplusplus
#define TORCHLET_EXTERN extern "C" __attribute__((visibility("default")))
#else
#define TORCHLET_EXTERN extern __attribute__((visibility("default")))
#endif
