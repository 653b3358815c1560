// cuBLAS, cuRAND and CUDA's runtime, as far as moot calls them, and the launchers of Candle's products of blocks, which
// are not emulated.
#include "device.hpp"

CALL cudaGetLastError() { return OK; }

// A handle has one workspace, which each of its products passes through: two streams that share a handle spoil each
// other's products.
struct Blas {
  Context *context;
  Stream *stream = nullptr;
  std::vector<double> workspace;
};
CALL cublasCreate_v2(Blas **blas) { return *blas = new Blas{current}, OK; }
// Waits for the whole context, as the manual says.
CALL cublasDestroy_v2(Blas *blas) {
  BEGIN;
  if (wait_for_all(blas->context)) wait(of_handle(blas->stream));
  return delete blas, OK;
}
CALL cublasSetStream_v2(Blas *blas, Stream *stream) {
  BEGIN;
  return blas->stream = stream, OK;
}

enum Type { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };
static double number(const void *at, int type, size_t i) {
  switch (type) {
    case F32: return ((const float *)at)[i];
    case F64: return ((const double *)at)[i];
    case F16: return widen(((const f16 *)at)[i]);
    case BF16: return widen(((const bf16 *)at)[i]);
  }
  fail("cuBLAS: a type that is not emulated");
}
static void write_number(void *at, int type, size_t i, double x) {
  switch (type) {
    case F32: ((float *)at)[i] = (float)x; break;
    case F64: ((double *)at)[i] = x; break;
    case F16: ((f16 *)at)[i] = narrow<f16>((float)x); break;
    case BF16: ((bf16 *)at)[i] = narrow<bf16>((float)x); break;
  }
}
// Matrices are held by columns; `x[i, j]` of an operand that is transposed is at (j, i).
static std::vector<float> rows_of(const void *at, int type, bool transposed, int rows, int columns, int leading) {
  std::vector<float> out((size_t)rows * columns);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      const size_t place = transposed ? (size_t)i * leading + j : (size_t)j * leading + i;
      out[(size_t)i * columns + j] = (float)number(at, type, place);
    }
  return out;
}
CALL cublasGemmStridedBatchedEx(Blas *blas, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                                int at, int lda, long long sa, const void *b, int bt, int ldb, long long sb,
                                const void *beta, void *c, int ct, int ldc, long long sc, int batch, int compute, int) {
  BEGIN;
  const int scalar = compute == 64 ? F16 : compute == 70 ? F64 : F32;
  const double scale = number(alpha, scalar, 0), keep = number(beta, scalar, 0);
  if (at == F64) fail("cuBLAS: products of f64 are not emulated");
  Stream &stream = of_handle(blas->stream);
  for (const void *matrix : {a, b, (const void *)c})
    if (elsewhere((Address)matrix, stream.context)) fail("a product of cuBLAS gets another device's memory");
  const auto bytes = [](int type) { return type == F32 ? 4ll : 2ll; };
  const auto product = [=] {
    blas->workspace.clear();
    for (int i = 0; i < batch; i++) {
      const auto x = rows_of((const char *)a + i * sa * bytes(at), at, ta != 0, m, k, lda);
      // Columns of the second operand, one after the other.
      const auto y = rows_of((const char *)b + i * sb * bytes(bt), bt, tb == 0, n, k, ldb);
      for (int column = 0; column < n; column++)
        for (int row = 0; row < m; row++) {
          const float *of_x = &x[(size_t)row * k], *of_y = &y[(size_t)column * k];
          float sum = 0;
          for (int j = 0; j < k; j++) sum += of_x[j] * of_y[j];
          blas->workspace.push_back(sum);
        }
    }
  };
  const auto result = [=] {
    // Another stream's product may have replaced it; what that leaves short is NaN.
    blas->workspace.resize((size_t)batch * n * m, NAN);
    auto sum = blas->workspace.begin();
    for (int i = 0; i < batch; i++) {
      void *to = (char *)c + i * sc * bytes(ct);
      for (int column = 0; column < n; column++)
        for (int row = 0; row < m; row++) {
          const size_t place = (size_t)column * ldc + row;
          write_number(to, ct, place, scale * *sum++ + (keep == 0 ? 0 : keep * number(to, ct, place)));
        }
    }
  };
  const Status given = give(stream, {"a product of cuBLAS", product, nullptr});
  return given ? given : give(stream, {"the result of a product of cuBLAS", result, nullptr});
}
CALL cublasGemmEx(Blas *blas, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int at, int lda,
                  const void *b, int bt, int ldb, const void *beta, void *c, int ct, int ldc, int compute, int how) {
  return cublasGemmStridedBatchedEx(blas, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, 1,
                                    compute, how);
}

// Candle opens a generator with each device; nothing of moot's draws from it.
CALL curandCreateGenerator(void **generator, int) { return *generator = &turn, OK; }
CALL curandDestroyGenerator(void *) { return OK; }
CALL curandSetPseudoRandomGeneratorSeed(void *, uint64_t) { return OK; }
CALL curandSetStream(void *, Stream *) { return OK; }
CALL curandGenerateNormal(void *, float *, size_t, float, float) { fail("cuRAND's numbers are not emulated"); }
CALL curandGenerateNormalDouble(void *, double *, size_t, double, double) { fail("cuRAND's numbers are not emulated"); }
CALL cublasDgemmStridedBatched() { fail("cuBLAS: products of f64 are not emulated"); }

#define ABSENT(NAME) SHOWN void NAME() { fail("Candle's products of blocks are not emulated: " #NAME); }
#define OF_TYPE(TYPE)                                                                                                 \
  ABSENT(launch_mmq_gguf_##TYPE) ABSENT(launch_mmvq_gguf_##TYPE##_f32_plain)                                          \
  ABSENT(launch_mmvq_gguf_##TYPE##_f16_plain) ABSENT(launch_mmvq_gguf_##TYPE##_bf16_plain)
OF_TYPE(q4_0) OF_TYPE(q4_1) OF_TYPE(q5_0) OF_TYPE(q5_1) OF_TYPE(q8_0)
OF_TYPE(q2_k) OF_TYPE(q3_k) OF_TYPE(q4_k) OF_TYPE(q5_k) OF_TYPE(q6_k)
ABSENT(launch_mmq_quantize_q8_1_D4) ABSENT(launch_mmq_quantize_q8_1_DS4) ABSENT(launch_mmq_quantize_q8_1_D2S6)
ABSENT(launch_mmvq_gguf_quantize_q8_1_f32) ABSENT(launch_mmvq_gguf_quantize_q8_1_f16)
ABSENT(launch_mmvq_gguf_quantize_q8_1_bf16)
