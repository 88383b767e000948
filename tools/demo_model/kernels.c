// The parts of training that PyTorch 1.13 does slowly on a CPU: everything between the matrix
// products. By the rates of its products alone, most of an eager step lies there. Called from kernels.py
// through ctypes; all arrays are contiguous, counts are elements, matrices are row by row.
//
// Widths are multiples of 16.
//
// Tokens of many sequences lie behind each other without padding ("packed"); `starts` has the
// first token of each sequence and, at its end, the number of tokens. Results do not depend on the
// number of threads.
//
// `small` is what lies between the matrix products: bf16, the upper half of a float, or with
// -DSMALL_IS_FLOAT a float, for processors whose products in bf16 are slow.
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef SMALL_IS_FLOAT
typedef float small;
#else
typedef uint16_t small;
#endif

// kLanes numbers are one register: wider vectors are taken apart by the compiler, badly.
enum {
  kHead = 32,
  kHalf = kHead / 2,
  kRows = 8,
#ifdef __AVX512F__
  kLanes = 16,
#else
  kLanes = 8,
#endif
  kBlock = 256
};

typedef float vec __attribute__((vector_size(4 * kLanes), aligned(4)));
typedef int32_t ivec __attribute__((vector_size(4 * kLanes), aligned(4)));
typedef uint32_t uvec __attribute__((vector_size(4 * kLanes), aligned(4)));
typedef uint16_t hvec __attribute__((vector_size(2 * kLanes), aligned(2)));

#ifdef SMALL_IS_FLOAT
static inline float wide(small value) { return value; }
static inline small narrow(float value) { return value; }
static inline vec wide_all(const small* from) { return *(const vec*)from; }
static inline void narrow_all(vec values, small* to) { *(vec*)to = values; }
#else
static inline float wide(small value) {
  uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, 4);
  return result;
}

static inline small narrow(float value) {  // to nearest, ties to even; no NaN comes here
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (small)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline vec wide_all(const small* from) {
  return (vec)(__builtin_convertvector(*(const hvec*)from, uvec) << 16);
}

static inline void narrow_all(vec values, small* to) {
  const uvec bits = (uvec)values;
  *(hvec*)to = __builtin_convertvector((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, hvec);
}
#endif

static inline float sum_of(vec values) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += values[i];
  return sum;
}

static inline vec choose(ivec which, vec yes, vec no) {
  return (vec)(((ivec)yes & which) | ((ivec)no & ~which));
}

// e^x of what is at most about 0, to 2e-7: 2^n times a polynomial of the rest (Cephes' method).
// Far below it is 0.
static inline vec exp_of(vec x) {
  x = choose(x < -87.0f, (vec){0} - 87.0f, x);
  const vec turns = x * 1.44269504f;
  const ivec n = __builtin_convertvector(turns - 0.5f, ivec);  // turns <= 0: cut is round
  const vec whole = __builtin_convertvector(n, vec);
  const vec r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
  vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * (vec)((n + 127) << 23);
}

// --- RMS norm, with the addition to the residual stream before it -----------------------------

// sum = x + delta (delta may be null: sum is x and not written); out = sum / rms(sum) * gain.
void norm_forward(const float* x, const small* delta, float* sum, const float* gain, small* out,
                  float* scale, int64_t tokens, int64_t width) {
#pragma omp parallel for
  for (int64_t t = 0; t < tokens; ++t) {
    const float* row = x + t * width;
    if (delta != NULL) {
      const small* add = delta + t * width;
      float* into = sum + t * width;
      for (int64_t c = 0; c < width; ++c) into[c] = row[c] + wide(add[c]);
      row = into;
    }
    float squares = 0;
    for (int64_t c = 0; c < width; ++c) squares += row[c] * row[c];
    const float factor = 1.0f / sqrtf(squares / (float)width + 1e-6f);
    scale[t] = factor;
    small* to = out + t * width;
    for (int64_t c = 0; c < width; ++c) to[c] = narrow(row[c] * factor * gain[c]);
  }
}

// gradient (of the residual stream, in and out) += what comes back through the norm.
void norm_backward(const small* back, const float* sum, const float* gain, const float* scale,
                   float* gradient, small* gradient_narrow, float* gain_gradient, int64_t tokens,
                   int64_t width) {
  const int64_t blocks = (tokens + kBlock - 1) / kBlock;
  float* parts = calloc((size_t)(blocks * width), sizeof(float));
#pragma omp parallel for
  for (int64_t b = 0; b < blocks; ++b) {
    float* part = parts + b * width;
    const int64_t end = (b + 1) * kBlock < tokens ? (b + 1) * kBlock : tokens;
    for (int64_t t = b * kBlock; t < end; ++t) {
      const float* row = sum + t * width;
      const small* from = back + t * width;
      float* into = gradient + t * width;
      const float factor = scale[t];
      float dot = 0;
      for (int64_t c = 0; c < width; ++c) dot += wide(from[c]) * gain[c] * row[c];
      const float pull = dot * factor * factor * factor / (float)width;
      for (int64_t c = 0; c < width; ++c) {
        const float g = wide(from[c]);
        part[c] += g * row[c] * factor;
        into[c] += g * gain[c] * factor - row[c] * pull;
      }
      if (gradient_narrow != NULL)
        for (int64_t c = 0; c < width; ++c) gradient_narrow[t * width + c] = narrow(into[c]);
    }
  }
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t c = 0; c < width; ++c) gain_gradient[c] += parts[b * width + c];
  free(parts);
}

// --- gated unit: out = silu(gate) * up; a row holds gate, then up -----------------------------

static inline vec sigmoid_of(vec x) {
  const vec e = exp_of(choose(x < 0, x, -x));  // of the side on which it is at most 1
  return choose(x < 0, e, (vec){0} + 1.0f) / (1.0f + e);
}

void gate_forward(const small* both, small* out, int64_t tokens, int64_t width) {
#pragma omp parallel for
  for (int64_t t = 0; t < tokens; ++t) {
    const small* gate = both + t * 2 * width;
    const small* up = gate + width;
    small* to = out + t * width;
    for (int64_t c = 0; c < width; c += kLanes) {
      const vec g = wide_all(gate + c);
      narrow_all(g * sigmoid_of(g) * wide_all(up + c), to + c);
    }
  }
}

void gate_backward(const small* both, const small* back, small* both_gradient, int64_t tokens,
                   int64_t width) {
#pragma omp parallel for
  for (int64_t t = 0; t < tokens; ++t) {
    const small* gate = both + t * 2 * width;
    const small* up = gate + width;
    const small* from = back + t * width;
    small* gate_to = both_gradient + t * 2 * width;
    small* up_to = gate_to + width;
    for (int64_t c = 0; c < width; c += kLanes) {
      const vec g = wide_all(gate + c), d = wide_all(from + c), s = sigmoid_of(g);
      narrow_all(d * wide_all(up + c) * s * (1.0f + g * (1.0f - s)), gate_to + c);
      narrow_all(d * g * s, up_to + c);
    }
  }
}

// --- attention with a norm on queries and keys, rotated positions, and shared beginnings ---------

// One head of one sequence, widened: rows [length][kHead], and keys and values also the other way
// round, [kHead][padded], so that kLanes keys are multiplied at once.
typedef struct {
  int64_t length, padded;
  float *q, *k, *v, *kt, *vt, *dq, *dk, *dv, *dout, *q_scale, *k_scale;
  float* memory;
} Part;

// The memory that a thread needs for a sequence and the beginning that it shares with others.
typedef struct {
  Part prefix, own;
  int64_t stride;
  float *p, *ds, *memory;  // [kRows][stride]: keys of the prefix, then own ones
} Work;

static int64_t pad(int64_t length) { return (length + kLanes - 1) / kLanes * kLanes; }

static Part make_part(int64_t length_max) {
  Part part = {0};
  const int64_t padded = pad(length_max) + kLanes;
  part.memory = aligned_alloc(64, (size_t)(padded * (kHead * 9 + 2)) * sizeof(float));
  float* at = part.memory;
  float** arrays[] = {&part.q,  &part.k,  &part.v,  &part.kt,  &part.vt,
                      &part.dq, &part.dk, &part.dv, &part.dout};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i, at += padded * kHead) *arrays[i] = at;
  part.q_scale = at;
  part.k_scale = at + padded;
  return part;
}

static Work make_work(int64_t length_max) {
  Work work = {.prefix = make_part(length_max), .own = make_part(length_max)};
  work.stride = 2 * (pad(length_max) + kLanes);
  work.memory = aligned_alloc(64, (size_t)(2 * kRows * work.stride) * sizeof(float));
  work.p = work.memory;
  work.ds = work.memory + kRows * work.stride;
  return work;
}

static void free_work(Work* work) {
  free(work->prefix.memory);
  free(work->own.memory);
  free(work->memory);
}

// Numbers c and c + kHalf of a head turn against each other.
static void rotate(const small* from, const float* gain, const float* turn, float extra, float* to,
                   float* scale) {
  vec squares = {0};
  for (int c = 0; c < kHead; c += kLanes) {
    const vec x = wide_all(from + c);
    squares += x * x;
  }
  *scale = 1.0f / sqrtf(sum_of(squares) / kHead + 1e-6f);
  for (int c = 0; c < kHalf; c += kLanes) {
    const vec low = wide_all(from + c) * (*scale * extra) * *(const vec*)(gain + c);
    const vec high = wide_all(from + kHalf + c) * (*scale * extra) * *(const vec*)(gain + kHalf + c);
    const vec cosine = *(const vec*)(turn + c), sine = *(const vec*)(turn + kHalf + c);
    *(vec*)(to + c) = low * cosine - high * sine;
    *(vec*)(to + kHalf + c) = high * cosine + low * sine;
  }
}

static void rotate_back(const small* from, const float* gain, const float* turn, float extra,
                        float scale, const float* gradient, small* to, float* gain_gradient) {
  float turned[kHead], x[kHead];
  vec products = {0};
  for (int c = 0; c < kHalf; c += kLanes) {
    const vec cosine = *(const vec*)(turn + c), sine = *(const vec*)(turn + kHalf + c);
    const vec a = *(const vec*)(gradient + c), b = *(const vec*)(gradient + kHalf + c);
    *(vec*)(turned + c) = (a * cosine + b * sine) * extra;
    *(vec*)(turned + kHalf + c) = (b * cosine - a * sine) * extra;
  }
  for (int c = 0; c < kHead; c += kLanes) {
    const vec own = wide_all(from + c) * scale;
    *(vec*)(x + c) = own;
    *(vec*)(gain_gradient + c) += *(const vec*)(turned + c) * own;
    *(vec*)(turned + c) *= *(const vec*)(gain + c);
    products += *(const vec*)(turned + c) * own;
  }
  const float dot = sum_of(products) / kHead;
  for (int c = 0; c < kHead; c += kLanes)
    narrow_all((*(const vec*)(turned + c) - *(const vec*)(x + c) * dot) * scale, to + c);
}

static void clear(float* array, int64_t rows) {
  memset(array, 0, (size_t)(rows * kHead) * sizeof(float));
}

// rows: the head's part of the first token; turns: of the first token's position.
static void load(Part* part, int64_t length, const small* rows, int64_t width, const float* gains,
                 const float* turns) {
  const float extra = 1.0f / sqrtf((float)kHead);
  part->length = length;
  part->padded = pad(length);
  for (int64_t t = 0; t < length; ++t) {
    const small* row = rows + t * 3 * width;
    const float* turn = turns + t * kHead;
    rotate(row, gains, turn, extra, part->q + t * kHead, part->q_scale + t);
    rotate(row + width, gains + kHead, turn, 1, part->k + t * kHead, part->k_scale + t);
    for (int c = 0; c < kHead; c += kLanes)
      *(vec*)(part->v + t * kHead + c) = wide_all(row + 2 * width + c);
  }
  const int64_t spare = part->padded + kRows - length;
  clear(part->q + length * kHead, spare);
  clear(part->k + length * kHead, spare);
  clear(part->v + length * kHead, spare);
  for (int64_t t = 0; t < part->padded; t += kLanes)
    for (int c = 0; c < kHead; ++c)
      for (int l = 0; l < kLanes; ++l) {
        part->kt[c * part->padded + t + l] = part->k[(t + l) * kHead + c];
        part->vt[c * part->padded + t + l] = part->v[(t + l) * kHead + c];
      }
}

static void load_back(Part* part, const small* back, int64_t width) {
  clear(part->dk, part->padded + kRows);
  clear(part->dv, part->padded + kRows);
  clear(part->dout, part->padded + kRows);
  for (int64_t t = 0; t < part->length; ++t)
    for (int c = 0; c < kHead; c += kLanes)
      *(vec*)(part->dout + t * kHead + c) = wide_all(back + t * width + c);
}

static void store_back(const Part* part, const small* rows, int64_t width, const float* gains,
                       const float* turns, small* rows_gradient, float* gains_gradient) {
  const float extra = 1.0f / sqrtf((float)kHead);
  for (int64_t t = 0; t < part->length; ++t) {
    const small* row = rows + t * 3 * width;
    small* to = rows_gradient + t * 3 * width;
    const float* turn = turns + t * kHead;
    rotate_back(row, gains, turn, extra, part->q_scale[t], part->dq + t * kHead, to,
                gains_gradient);
    rotate_back(row + width, gains + kHead, turn, 1, part->k_scale[t], part->dk + t * kHead,
                to + width, gains_gradient + kHead);
    for (int c = 0; c < kHead; c += kLanes)
      narrow_all(*(const vec*)(part->dv + t * kHead + c), to + 2 * width + c);
  }
}

// out[r][j] = rows[r] . columns[.][j] for kRows rows and the first `keys` columns.
static void multiply_rows(const float* rows, const float* columns, int64_t padded, int64_t keys,
                          float* out, int64_t stride) {
  for (int64_t j = 0; j < keys; j += kLanes) {
    vec sums[kRows] = {0};
    for (int c = 0; c < kHead; ++c) {
      const vec column = *(const vec*)(columns + c * padded + j);
      for (int r = 0; r < kRows; ++r) sums[r] += column * rows[r * kHead + c];
    }
    for (int r = 0; r < kRows; ++r) *(vec*)(out + r * stride + j) = sums[r];
  }
}

// out[r] += sum over j of weights[r][j] * rows[j].
static void weigh_rows(const float* weights, int64_t stride, int64_t keys, const float* rows,
                       float* out) {
  for (int c = 0; c < kHead; c += kLanes) {
    vec sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = *(const vec*)(out + r * kHead + c);
    for (int64_t j = 0; j < keys; ++j) {
      const vec row = *(const vec*)(rows + j * kHead + c);
      for (int r = 0; r < kRows; ++r) sums[r] += row * weights[r * stride + j];
    }
    for (int r = 0; r < kRows; ++r) *(vec*)(out + r * kHead + c) = sums[r];
  }
}

// out[j] += sum over r of weights[r][j] * rows[r].
static void spread_rows(const float* weights, int64_t stride, int64_t keys, const float* rows,
                        float* out) {
  for (int c = 0; c < kHead; c += kLanes) {
    vec own[kRows];
    for (int r = 0; r < kRows; ++r) own[r] = *(const vec*)(rows + r * kHead + c);
    for (int64_t j = 0; j < keys; ++j) {
      vec sum = *(vec*)(out + j * kHead + c);
      for (int r = 0; r < kRows; ++r) sum += own[r] * weights[r * stride + j];
      *(vec*)(out + j * kHead + c) = sum;
    }
  }
}

// How many keys kRows rows from `row` on see: of the prefix (0: there is none), and own ones.
typedef struct {
  int64_t prefix, own;
} Keys;

static Keys keys_of(const Part* prefix, const Part* own, int64_t row, int causal) {
  const int64_t seen = causal ? pad(row + kRows) : own->padded;
  return (Keys){prefix == NULL ? 0 : prefix->padded, seen < own->padded ? seen : own->padded};
}

// Scores of kRows rows; what a row does not see is so low that its weight is nothing.
static void score(const Work* work, const Part* prefix, const Part* own, int64_t i, Keys keys,
                  int causal) {
  const float nothing = -1e30f;
  if (prefix != NULL)
    multiply_rows(own->q + i * kHead, prefix->kt, prefix->padded, keys.prefix, work->p,
                  work->stride);
  multiply_rows(own->q + i * kHead, own->kt, own->padded, keys.own, work->p + keys.prefix,
                work->stride);
  for (int r = 0; r < kRows; ++r) {
    float* p = work->p + r * work->stride;
    if (prefix != NULL)
      for (int64_t j = prefix->length; j < keys.prefix; ++j) p[j] = nothing;
    for (int64_t j = causal ? i + r + 1 : own->length; j < keys.own; ++j)
      p[keys.prefix + j] = nothing;
  }
}

static void forward_rows(const Work* work, const Part* prefix, const Part* own, int causal,
                         small* out, int64_t width, float* log_sums, int64_t heads) {
  for (int64_t i = 0; i < own->length; i += kRows) {
    const Keys keys = keys_of(prefix, own, i, causal);
    const int64_t all = keys.prefix + keys.own;
    score(work, prefix, own, i, keys, causal);
    float shares[kRows];
    for (int r = 0; r < kRows; ++r) {
      float* p = work->p + r * work->stride;
      float top = p[0];
      for (int64_t j = 1; j < all; ++j) top = p[j] > top ? p[j] : top;
      vec sums = {0};
      for (int64_t j = 0; j < all; j += kLanes) {
        const vec e = exp_of(*(const vec*)(p + j) - top);
        *(vec*)(p + j) = e;
        sums += e;
      }
      const float sum = sum_of(sums);
      shares[r] = 1.0f / sum;
      if (i + r < own->length) log_sums[(i + r) * heads] = top + logf(sum);
    }
    float mixed[kRows * kHead] = {0};
    if (prefix != NULL) weigh_rows(work->p, work->stride, keys.prefix, prefix->v, mixed);
    weigh_rows(work->p + keys.prefix, work->stride, keys.own, own->v, mixed);
    for (int r = 0; r < kRows && i + r < own->length; ++r)
      for (int c = 0; c < kHead; c += kLanes)
        narrow_all(*(const vec*)(mixed + r * kHead + c) * shares[r], out + (i + r) * width + c);
  }
}

static void backward_rows(const Work* work, Part* prefix, Part* own, int causal, const small* out,
                          int64_t width, const float* log_sums, int64_t heads) {
  for (int64_t i = 0; i < own->length; i += kRows) {
    const Keys keys = keys_of(prefix, own, i, causal);
    const int64_t all = keys.prefix + keys.own;
    const float* dout = own->dout + i * kHead;
    score(work, prefix, own, i, keys, causal);
    if (prefix != NULL)
      multiply_rows(dout, prefix->vt, prefix->padded, keys.prefix, work->ds, work->stride);
    multiply_rows(dout, own->vt, own->padded, keys.own, work->ds + keys.prefix, work->stride);
    for (int r = 0; r < kRows; ++r) {
      float* p = work->p + r * work->stride;
      float* ds = work->ds + r * work->stride;
      if (i + r >= own->length) {
        for (int64_t j = 0; j < all; ++j) p[j] = ds[j] = 0;
        continue;
      }
      const float log_sum = log_sums[(i + r) * heads];
      vec means = {0};
      for (int c = 0; c < kHead; c += kLanes)
        means += wide_all(out + (i + r) * width + c) * *(const vec*)(dout + r * kHead + c);
      const float mean = sum_of(means);
      for (int64_t j = 0; j < all; j += kLanes) {
        const vec e = exp_of(*(const vec*)(p + j) - log_sum);
        *(vec*)(p + j) = e;
        *(vec*)(ds + j) = e * (*(const vec*)(ds + j) - mean);
      }
    }
    const float* q = own->q + i * kHead;
    float* dq = own->dq + i * kHead;
    clear(dq, kRows);
    if (prefix != NULL) {
      weigh_rows(work->ds, work->stride, keys.prefix, prefix->k, dq);
      spread_rows(work->ds, work->stride, keys.prefix, q, prefix->dk);
      spread_rows(work->p, work->stride, keys.prefix, dout, prefix->dv);
    }
    weigh_rows(work->ds + keys.prefix, work->stride, keys.own, own->k, dq);
    spread_rows(work->ds + keys.prefix, work->stride, keys.own, q, own->dk);
    spread_rows(work->p + keys.prefix, work->stride, keys.own, dout, own->dv);
  }
}

// `groups` has the first sequence of each group and, at its end, the number of sequences. In a
// group of several the first sequence is what the others begin with: they see it and are counted
// on from its end, and it is computed once for all of them. `causal` 0 lets every token see the
// whole of its sequence.
void attention_forward(const small* qkv, const float* gains, const float* turns,
                       const int64_t* starts, const int64_t* groups, int64_t group_count,
                       int64_t heads, int64_t length_max, int64_t causal, small* out,
                       float* log_sums) {
  const int64_t width = heads * kHead;
#pragma omp parallel
  {
    Work work = make_work(length_max);
#pragma omp for schedule(dynamic, 1)
    for (int64_t item = 0; item < group_count * heads; ++item) {
      const int64_t g = item / heads, h = item % heads;
      for (int64_t s = groups[g]; s < groups[g + 1]; ++s) {
        const int first = s == groups[g];
        const int64_t start = starts[s], before = first ? 0 : work.prefix.length;
        Part* own = first ? &work.prefix : &work.own;
        load(own, starts[s + 1] - start, qkv + start * 3 * width + h * kHead, width, gains,
             turns + before * kHead);
        forward_rows(&work, first ? NULL : &work.prefix, own, (int)causal,
                     out + start * width + h * kHead, width, log_sums + start * heads + h, heads);
      }
    }
    free_work(&work);
  }
}

void attention_backward(const small* qkv, const float* gains, const float* turns,
                        const int64_t* starts, const int64_t* groups, int64_t group_count,
                        int64_t heads, int64_t length_max, int64_t causal, const small* out,
                        const float* log_sums, const small* back, small* qkv_gradient,
                        float* gains_gradient) {
  const int64_t width = heads * kHead, items = group_count * heads;
  float* parts = calloc((size_t)(items * 2 * kHead), sizeof(float));
#pragma omp parallel
  {
    Work work = make_work(length_max);
#pragma omp for schedule(dynamic, 1)
    for (int64_t item = 0; item < items; ++item) {
      const int64_t g = item / heads, h = item % heads;
      float* gains_part = parts + item * 2 * kHead;
      // The shared beginning comes last, when all that others want of it is there.
      for (int64_t s = groups[g]; s <= groups[g + 1]; ++s) {
        const int opening = s == groups[g], closing = s == groups[g + 1];
        const int64_t which = closing ? groups[g] : s, start = starts[which];
        const int shared = opening || closing;
        Part* own = shared ? &work.prefix : &work.own;
        const small* rows = qkv + start * 3 * width + h * kHead;
        const float* own_turns = turns + (shared ? 0 : work.prefix.length * kHead);
        if (!closing) {
          load(own, starts[which + 1] - start, rows, width, gains, own_turns);
          load_back(own, back + start * width + h * kHead, width);
        }
        if (opening) continue;
        backward_rows(&work, closing ? NULL : &work.prefix, own, (int)causal,
                      out + start * width + h * kHead, width, log_sums + start * heads + h, heads);
        store_back(own, rows, width, gains, own_turns, qkv_gradient + start * 3 * width + h * kHead,
                   gains_part);
      }
    }
    free_work(&work);
  }
  for (int64_t item = 0; item < items; ++item)
    for (int c = 0; c < 2 * kHead; ++c) gains_gradient[c] += parts[item * 2 * kHead + c];
  free(parts);
}

// --- the loss ---------------------------------------------------------------------------------

// logits become their gradient, times weights[t]; losses[t] in nats; right[t]: is the best token
// the wanted one?
void cross_entropy(small* logits, const int64_t* wanted, const float* weights, float* losses,
                   uint8_t* right, int64_t rows, int64_t tokens) {
#pragma omp parallel
  {
    float* p = malloc((size_t)tokens * sizeof(float));
#pragma omp for
    for (int64_t t = 0; t < rows; ++t) {
      small* row = logits + t * tokens;
      float top = -1e30f, sum = 0;
      for (int64_t c = 0; c < tokens; ++c) p[c] = wide(row[c]);
      for (int64_t c = 0; c < tokens; ++c) top = p[c] > top ? p[c] : top;
      const float own = p[wanted[t]];
      right[t] = own >= top;
      for (int64_t c = 0; c < tokens; ++c) {
        p[c] = expf(p[c] - top);
        sum += p[c];
      }
      losses[t] = logf(sum) + top - own;
      const float share = weights[t] / sum;
      for (int64_t c = 0; c < tokens; ++c) row[c] = narrow(p[c] * share);
      row[wanted[t]] = narrow(p[wanted[t]] * share - weights[t]);
    }
    free(p);
  }
}

// --- AdamW on one array -----------------------------------------------------------------------

void adam(float* values, const float* gradient, float* mean, float* square, int64_t count,
          float rate, float decay, float mean_keep, float square_keep, float step) {
  const float mean_scale = 1.0f / (1.0f - powf(mean_keep, step));
  const float square_scale = 1.0f / (1.0f - powf(square_keep, step));
#pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    mean[i] = mean_keep * mean[i] + (1.0f - mean_keep) * g;
    square[i] = square_keep * square[i] + (1.0f - square_keep) * g * g;
    values[i] -= rate * (mean[i] * mean_scale / (sqrtf(square[i] * square_scale) + 1e-8f) +
                         decay * values[i]);
  }
}
