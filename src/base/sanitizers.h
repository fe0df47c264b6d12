// TORCHLET_ADDRESS_SANITIZER and TORCHLET_THREAD_SANITIZER are 1 in programs that are built with
// that sanitizer, else 0. GCC and Clang tell it in different ways.
#pragma once

#if defined(__has_feature)
#define TORCHLET_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TORCHLET_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TORCHLET_HAS_FEATURE(address_sanitizer)
#define TORCHLET_ADDRESS_SANITIZER 1
#else
#define TORCHLET_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || TORCHLET_HAS_FEATURE(thread_sanitizer)
#define TORCHLET_THREAD_SANITIZER 1
#else
#define TORCHLET_THREAD_SANITIZER 0
#endif

#undef TORCHLET_HAS_FEATURE
