// Rows of measured steps as other hands write them: words, blanks and numbers.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "csvrows.h"
#include "namewords.h"
#include "test_step_rows.h"

// What other hands write for the same: each row is scored and reads as the first word's.
Test(cases, one_meaning_in_many_spellings)
{
    gpu.gemm_fp8_flops = 1200e12;
    read_rows("a,Measured by A" DENSE "2,1,,1,zero1,2,64,bfloat16,no,on,,1.5,,\n"
              "b,Measured by A" DENSE "2,1,N/A,-,ZeRO 3,2,64,float16,off,0,,1.5,n/a,\n"
              "c,Measured by A" DENSE "2,1,--,1,FULL_SHARD,2,64,FP8 row-wise,False,1,,1.5,,\n"
              "d,Measured by A,yes,M,4,\"1,024\",8,8,4096,\"32,000\",\"2,048\",,G1,16,2,"
              "2,1,,1,NO_SHARD,2,64,float8,none,off,,1.5,,\n"
              "e,Measured by A" DENSE "2,1,,1,hybrid shard,2,64,bf16,,,,1.5,,\n"
              "f,Measured by A" DENSE "2,1,,1,hsdp 4,2,\"6,40\",bf16,,,,1.5,,\n"
              "g,Measured by A" DENSE "2,1,,1,,2,64,bf16,,not stated,,1.5,,\n");
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(cases[i].class, SAND_STEP_SCORED, "row %zu: %s", i, cases[i].why);
    const struct sand_split *a = &cases[0].job.split, *b = &cases[1].job.split;
    const struct sand_split *c = &cases[2].job.split, *d = &cases[3].job.split;
    cr_expect(a->sharding == SAND_SHARD_OPTIMIZER && a->distributed_optimizer);
    cr_expect(a->precision == SAND_BF16 && a->recompute == SAND_RECOMPUTE_NONE);
    cr_expect(a->sequence_parallel && c->sequence_parallel);
    cr_expect(!b->sequence_parallel && !d->sequence_parallel);
    cr_expect(b->sharding == SAND_SHARD_PARAMETERS && b->precision == SAND_FP16 && b->cp == 1);
    cr_expect(c->sharding == SAND_SHARD_PARAMETERS && c->precision == SAND_FP8_ROW);
    cr_expect(!d->distributed_optimizer && d->precision == SAND_FP8);
    cr_expect(cases[3].model.hidden == 1024 && cases[3].model.vocab == 32000);
    cr_expect_eq(cases[4].job.split.shard_group, 4u, "HYBRID_SHARD is the node: 8 GPUs of tp 2");
    cr_expect_eq(cases[5].class, SAND_STEP_SKIPPED, "6,40 is no grouped number");
    cr_expect_eq(cases[6].class, SAND_STEP_ILL, "not stated is not no");
    sand_step_rows_clear(&rows);
}

Test(spellings, a_hyphen_is_any_join)
{
    static const char *const same[] = {"ZeRO-1", "zero1", "DeepSpeed ZERO 1", "my zero_1 run"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        cr_expect(sand_name_says(same[i], "ZeRO-1"), "%s", same[i]);
    static const char *const other[] = {"", "ZeRO", "ZeRO--1", "ZeRO-2", "ze ro1"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        cr_expect(!sand_name_says(other[i], "ZeRO-1"), "%s", other[i]);
}

// Groups of three digits alone are groups; whatever else a cell holds stays as it is written.
Test(spellings, grouped_digits)
{
    static const char *const pairs[][2] = {
        {"1,024", "1024"},           {"131,072", "131072"}, {"1,073,741,824", "1073741824"},
        {"2,048 GPUs", "2048 GPUs"}, {"5,0", "5,0"},        {"1024,000", "1024,000"},
        {"1,0240", "1,0240"},        {",024", ",024"},      {"", ""},
        {"-1,024", "-1,024"},        {"1,024,", "1024,"}};
    char plain[SAND_CSV_NUMBER];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        cr_expect_str_eq(sand_csv_ungrouped(pairs[i][0], plain), pairs[i][1]);
    static const char endless[] = "1,000,000,000,000,000,000,000,000,000,000,000,000,000,000,000";
    cr_expect_geq(strlen(sand_csv_ungrouped(endless, plain)), (size_t)20, "never past its end");
    static const char tail[] = "1,000 of the very many GPUs that this cluster has in all its halls";
    cr_expect_eq(sand_csv_ungrouped(tail, plain), tail);
}
