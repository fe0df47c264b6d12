// What libraries refer to and the static command never calls, or need not call in its fastest form.
// Defined here, it does not bring the real bodies along (docs/size.md has the sizes). Who calls
// what is never called is stopped at once.
#include <locale.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#define NEVER_CALLED(name) \
  extern "C" [[noreturn]] void name() { std::abort(); }

// libpng: what frees a picture asks whether it was being written, and what complains of colour
// profiles shares a line with the writer.
NEVER_CALLED(png_destroy_write_struct)
NEVER_CALLED(png_free_buffer_list)
extern "C" void png_save_uint_32(unsigned char* bytes, unsigned value) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<unsigned char>(value >> (24 - 8 * i));
}

// The C++ library's last words before abort() spell the type of an exception, for which they need a
// demangler. main() catches what derives from std::exception.
namespace __gnu_cxx {
[[noreturn]] void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx

// libjpeg: what only works for callers that want fewer colours, or speed before exactness.
NEVER_CALLED(jinit_1pass_quantizer)
NEVER_CALLED(jinit_2pass_quantizer)
NEVER_CALLED(jinit_merged_upsampler)
NEVER_CALLED(jpeg_idct_float)
NEVER_CALLED(jpeg_idct_ifast)

// libjpeg looks for a limit of memory in the environment variable JPEGMEM; to read it takes all of
// scanf. The answer is that no number is there.
extern "C" int __isoc99_sscanf(const char*, const char* format, ...) {
  if (std::strcmp(format, "%ld%c") != 0) std::abort();
  return 0;
}

// The C library: streams of wide characters, and with them the conversions between character sets.
NEVER_CALLED(__gconv_lock)
NEVER_CALLED(__gconv_release_step)
NEVER_CALLED(__mbsrtowcs)
NEVER_CALLED(__vfwprintf_internal)
NEVER_CALLED(__wcrtomb)
NEVER_CALLED(__wcsmbs_gconv_fcts_c)
NEVER_CALLED(__wcsmbs_named_conv)
NEVER_CALLED(__wcsrtombs)
NEVER_CALLED(__woverflow)
NEVER_CALLED(_IO_free_wbackup_area)
NEVER_CALLED(_IO_fwide)
NEVER_CALLED(_IO_wdo_write)
NEVER_CALLED(_IO_wfile_jumps)
NEVER_CALLED(_IO_wfile_jumps_maybe_mmap)
NEVER_CALLED(_IO_wfile_jumps_mmap)
NEVER_CALLED(_IO_wsetb)

// The C library: texts in the user's language. Without setlocale() they stay as they are.
extern "C" char* __dcgettext(const char*, char* text, int) { return text; }

// The C library: whose thread-local object it is. Null means the program's, and there is nothing
// else.
extern "C" void* _dl_find_dso_for_object(const void*) { return nullptr; }

// The C library: each thread's state of looking up hosts.
extern "C" {
thread_local void* __libc_resp;
}

#ifdef __x86_64__

// The C library: string functions in versions for many instruction sets. These are called for a few
// short names.
extern "C" {
int strncmp(const char* a, const char* b, size_t count) {
  for (; count != 0; ++a, ++b, --count) {
    if (*a != *b || *a == '\0')
      return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
  }
  return 0;
}
int strcmp(const char* a, const char* b) { return strncmp(a, b, SIZE_MAX); }
int __strncasecmp_l(const char* a, const char* b, size_t count, locale_t) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c & 255; };
  for (; count != 0; ++a, ++b, --count) {
    if (lower(*a) != lower(*b) || *a == '\0') return lower(*a) - lower(*b);
  }
  return 0;
}
char* __stpcpy(char* target, const char* source) {
  while ((*target = *source++) != '\0') ++target;
  return target;
}
char* strcpy(char* target, const char* source) {
  __stpcpy(target, source);
  return target;
}
char* strncpy(char* target, const char* source, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    target[i] = *source;
    if (*source != '\0') ++source;
  }
  return target;
}
}

// libjpeg-turbo: the encoder's kernels are named in one table with the decoder's.
#define FROM_RGB(color)                           \
  NEVER_CALLED(jsimd_##color##_ycc_convert_sse2)  \
  NEVER_CALLED(jsimd_##color##_ycc_convert_avx2)  \
  NEVER_CALLED(jsimd_##color##_gray_convert_sse2) \
  NEVER_CALLED(jsimd_##color##_gray_convert_avx2)
FROM_RGB(rgb)
FROM_RGB(extrgb)
FROM_RGB(extrgbx)
FROM_RGB(extbgr)
FROM_RGB(extbgrx)
FROM_RGB(extxbgr)
FROM_RGB(extxrgb)
NEVER_CALLED(jconst_rgb_ycc_convert_sse2)  // tables, whose addresses are looked at
NEVER_CALLED(jconst_rgb_ycc_convert_avx2)
NEVER_CALLED(jconst_rgb_gray_convert_sse2)
NEVER_CALLED(jconst_rgb_gray_convert_avx2)
NEVER_CALLED(jconst_fdct_float_sse)
NEVER_CALLED(jconst_fdct_ifast_sse2)
NEVER_CALLED(jconst_fdct_islow_sse2)
NEVER_CALLED(jconst_fdct_islow_avx2)
NEVER_CALLED(jconst_huff_encode_one_block)
NEVER_CALLED(jsimd_convsamp_avx2)
NEVER_CALLED(jsimd_convsamp_float_sse2)
NEVER_CALLED(jsimd_convsamp_sse2)
NEVER_CALLED(jsimd_fdct_float_sse)
NEVER_CALLED(jsimd_fdct_ifast_sse2)
NEVER_CALLED(jsimd_fdct_islow_avx2)
NEVER_CALLED(jsimd_fdct_islow_sse2)
NEVER_CALLED(jsimd_h2v1_downsample_avx2)
NEVER_CALLED(jsimd_h2v1_downsample_sse2)
NEVER_CALLED(jsimd_h2v2_downsample_avx2)
NEVER_CALLED(jsimd_h2v2_downsample_sse2)
NEVER_CALLED(jsimd_quantize_avx2)
NEVER_CALLED(jsimd_quantize_float_sse2)
NEVER_CALLED(jsimd_quantize_sse2)
NEVER_CALLED(jsimd_huff_encode_one_block_sse2)
NEVER_CALLED(jsimd_encode_mcu_AC_first_prepare_sse2)
NEVER_CALLED(jsimd_encode_mcu_AC_refine_prepare_sse2)

// libjpeg-turbo: the same for what is fast and less exact.
#define MERGED_UPSAMPLING(color)                         \
  NEVER_CALLED(jsimd_h2v1_##color##merged_upsample_sse2) \
  NEVER_CALLED(jsimd_h2v1_##color##merged_upsample_avx2) \
  NEVER_CALLED(jsimd_h2v2_##color##merged_upsample_sse2) \
  NEVER_CALLED(jsimd_h2v2_##color##merged_upsample_avx2)
MERGED_UPSAMPLING()
MERGED_UPSAMPLING(extrgb_)
MERGED_UPSAMPLING(extrgbx_)
MERGED_UPSAMPLING(extbgr_)
MERGED_UPSAMPLING(extbgrx_)
MERGED_UPSAMPLING(extxbgr_)
MERGED_UPSAMPLING(extxrgb_)
NEVER_CALLED(jconst_merged_upsample_sse2)
NEVER_CALLED(jconst_merged_upsample_avx2)
NEVER_CALLED(jconst_idct_float_sse2)
NEVER_CALLED(jsimd_idct_float_sse2)
NEVER_CALLED(jconst_idct_ifast_sse2)
NEVER_CALLED(jsimd_idct_ifast_sse2)

// The C library's functions for processors with AVX but not FMA, and for those with FMA4, compute
// as those with neither; others have versions of their own, unless these are large and seldom
// called.
#define LIKE_SSE2(function, isa) \
  asm(".text\n.globl " #function "_" #isa "\n" #function "_" #isa ": jmp " #function "_sse2");
#define LIKE_SSE2_TOO(function) LIKE_SSE2(function, avx) LIKE_SSE2(function, fma4)
LIKE_SSE2_TOO(__atan)
LIKE_SSE2(__atan, fma)
LIKE_SSE2_TOO(__cos)
LIKE_SSE2_TOO(__sin)
LIKE_SSE2_TOO(__sincos)
LIKE_SSE2_TOO(__tan)
LIKE_SSE2(__tan, fma)
LIKE_SSE2_TOO(__ieee754_atan2)
LIKE_SSE2(__ieee754_atan2, fma)
LIKE_SSE2_TOO(__ieee754_exp)
LIKE_SSE2_TOO(__ieee754_log)
LIKE_SSE2(__ieee754_acos, fma)
LIKE_SSE2(__ieee754_acos, fma4)
LIKE_SSE2(__ieee754_asin, fma)
LIKE_SSE2(__ieee754_asin, fma4)
LIKE_SSE2(__ieee754_pow, fma4)

#endif
