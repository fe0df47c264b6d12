/* Hides instruction sets from every engine, for rows of compare.py on a lesser processor: preloaded, it answers CPUID in place
 * of the processor, which has to be able to fault on that instruction (`cpuid_fault` in /proc/cpuinfo; x86-64 Linux).
 *
 *     gcc -O2 -shared -fPIC bench/hide_isa.c -o hide_isa.so
 *     HIDE_ISA=amx     LD_PRELOAD=$PWD/hide_isa.so python3 bench/compare.py ...     AVX-512 with VNNI, without AMX
 *     HIDE_ISA=avx512  LD_PRELOAD=$PWD/hide_isa.so python3 bench/compare.py ...     AVX2, without AVX-VNNI
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static int keeps_avx512;

static void answer(int number, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* at = (const unsigned char*)registers[REG_RIP];
  (void)info;
  if (at[0] != 0x0f || at[1] != 0xa2) { /* not CPUID: the fault comes again, and ends the program */
    signal(number, SIG_DFL);
    return;
  }
  const unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX];
  unsigned a, b, c, d;
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __cpuid_count(leaf, subleaf, a, b, c, d);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == 7 && subleaf == 0) {
    d &= ~0x03400000u; /* AMX */
    if (!keeps_avx512) b &= ~0xdc230000u, c &= ~0x00005842u, d &= ~0x0080010cu;
  } else if (leaf == 7 && subleaf == 1) {
    a &= ~0x00200000u; /* AMX-FP16 */
    if (!keeps_avx512) a &= ~0x00800030u, d &= ~0x00080430u; /* AVX-VNNI and what follows it */
  }
  registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  const char* hidden = getenv("HIDE_ISA");
  if (hidden == NULL) return;
  keeps_avx512 = strcmp(hidden, "amx") == 0;
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0) perror("hide_isa");
}
