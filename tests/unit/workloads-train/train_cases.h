// Models and splits that the tests of this room share.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_TESTS_TRAIN_CASES_H
#define SAND_TESTS_TRAIN_CASES_H

#include "train.h"

// The Llama 3 family: 8 key and value heads of size 128, gated FFN, 128,256 tokens (Llama 3 report,
// table 3).
static inline struct sand_transformer llama(uint32_t layers, uint32_t hidden, uint32_t heads,
                                            uint32_t ffn)
{
    return (struct sand_transformer){.id = "llama",
                                     .n_layers = layers,
                                     .hidden = hidden,
                                     .n_heads = heads,
                                     .n_kv_heads = 8,
                                     .head_dim = 128,
                                     .ffn_hidden = ffn,
                                     .vocab = 128256,
                                     .gated_ffn = 1};
}

// GPT-3 175B as Megatron trains it (Narayanan et al. 2021; Korthikanti et al. 2022).
static inline struct sand_transformer gpt3(void)
{
    return (struct sand_transformer){.id = "gpt3",
                                     .n_layers = 96,
                                     .hidden = 12288,
                                     .n_heads = 96,
                                     .n_kv_heads = 96,
                                     .head_dim = 128,
                                     .ffn_hidden = 49152,
                                     .vocab = 51200,
                                     .tied_embeddings = 1};
}

static inline struct sand_split plain(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t global_batch)
{
    return (struct sand_split){.tp = tp,
                               .cp = 1,
                               .pp = pp,
                               .dp = dp,
                               .virtual_stages = 1,
                               .micro_batch = 1,
                               .global_batch = global_batch,
                               .sequence = 8192,
                               .buckets = 1,
                               .precision = SAND_BF16,
                               .grad_B = 4};
}

// 405B on 16,384 GPUs (Llama 3 report, table 4), with interleaving.
static inline struct sand_split llama3_split(void)
{
    struct sand_split split = plain(8, 16, 128, 2048);
    split.virtual_stages = 8;
    split.sequence_parallel = 1;
    split.distributed_optimizer = 1;
    split.recompute = SAND_RECOMPUTE_SELECTIVE;
    return split;
}

#endif
