// A model through NNAPI's C functions, those of Android 10: client MODEL.nnapi INPUT [RUNS]
// Prints the milliseconds of each run and the five largest outputs. Both files are extract.py's.
#include <android/NeuralNetworks.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// MODEL.nnapi is a header, tables of these, the words that belong to each, and weights.
typedef struct { uint32_t version, operands, values, operations, inputs, outputs; } Header;
typedef struct { int32_t type; uint32_t rank; float scale; int32_t zero_point; } Operand;
typedef struct { uint32_t operand, is_weight, nbytes; } Value;
typedef struct { int32_t code; uint32_t inputs, outputs; } Operation;

static void require(bool holds, const char* what) {
  if (!holds) exit((fprintf(stderr, "failed: %s\n", what), 1));
}
#define NN(call) require(ANeuralNetworks##call == ANEURALNETWORKS_NO_ERROR, #call)

static const void* map(const char* path, int* fd, size_t* nbytes) {
  require((*fd = open(path, O_RDONLY)) >= 0, path);
  *nbytes = (size_t)lseek(*fd, 0, SEEK_END);
  const void* bytes = mmap(NULL, *nbytes, PROT_READ, MAP_SHARED, *fd, 0);
  require(bytes != MAP_FAILED, path);
  return bytes;
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
  require(argc > 2, "usage: client MODEL.nnapi INPUT [RUNS]");
  int fd, input_fd;
  size_t nbytes, input_nbytes, count = 1;
  const Header* header = map(argv[1], &fd, &nbytes);
  const void* input = map(argv[2], &input_fd, &input_nbytes);
  const Operand* operands = (const Operand*)(header + 1);
  const Value* values = (const Value*)(operands + header->operands);
  const Operation* operations = (const Operation*)(values + header->values);
  const uint32_t *words = (const uint32_t*)(operations + header->operations), *sizes = words;

  ANeuralNetworksModel* model;
  ANeuralNetworksMemory* weights;  // which NNAPI reads where they lie in the file
  NN(Model_create(&model));
  NN(Memory_createFromFd(nbytes, PROT_READ, fd, 0, &weights));
  for (const Operand* o = operands; o < operands + header->operands; words += o++->rank) {
    const uint32_t* dims = o->rank ? words : NULL;
    const ANeuralNetworksOperandType type = {o->type, o->rank, dims, o->scale, o->zero_point};
    NN(Model_addOperand(model, &type));
  }
  for (const Value* v = values; v < values + header->values; words += (v++->nbytes + 3) / 4) {
    if (v->is_weight)
      NN(Model_setOperandValueFromMemory(model, (int32_t)v->operand, weights, words[1], words[2]));
    else
      NN(Model_setOperandValue(model, (int32_t)v->operand, words, v->nbytes));
  }
  for (const Operation* o = operations; o < operations + header->operations; ++o) {
    NN(Model_addOperation(model, o->code, o->inputs, words, o->outputs, words + o->inputs));
    words += o->inputs + o->outputs;
  }
  NN(Model_identifyInputsAndOutputs(model, 1, words, 1, words + 1));
  NN(Model_finish(model));
  ANeuralNetworksCompilation* compilation;
  NN(Compilation_create(model, &compilation));
  NN(Compilation_finish(compilation));

  const Operand* result = operands + words[1];
  for (const Operand* o = operands; o < result; ++o) sizes += o->rank;
  for (uint32_t i = 0; i < result->rank; ++i) count *= sizes[i];
  const bool is_float = result->type == ANEURALNETWORKS_TENSOR_FLOAT32;
  float* scores = malloc(count * sizeof(float));
  for (int run = argc > 3 ? atoi(argv[3]) : 10; run > 0; --run) {
    const double start = now_ms();
    ANeuralNetworksExecution* execution;
    NN(Execution_create(compilation, &execution));
    NN(Execution_setInput(execution, 0, NULL, input, input_nbytes));
    NN(Execution_setOutput(execution, 0, NULL, scores, is_float ? count * sizeof(float) : count));
    NN(Execution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    printf("%.3f%s", now_ms() - start, run > 1 ? " " : " ms\n");
  }
  for (size_t i = count; !is_float && i-- > 0;) scores[i] = ((uint8_t*)scores)[i];
  for (int place = 0; place < 5; ++place) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) best = scores[i] > scores[best] ? i : best;
    printf("%g  %zu\n", scores[best], best);
    scores[best] = -INFINITY;
  }
  return 0;
}
