// Rows of measured steps: how they are read, judged, predicted and summed up.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stepcheck.h"
#include "stepreport.h"
#include "test_step_rows.h"
#include "train.h"

static struct sand_step_prediction predictions[MOST_ROWS];

Test(rows, columns_by_name_quotes_and_blanks)
{
    read_rows("a,\"Measured by A, \"\"here\"\"\"" DENSE
              "1,1,,1,FSDP,2,64,bf16,full,,fast,1.5,,\"a note, with a comma\"\n");
    cr_assert_eq(rows.n, 1);
    cr_assert_str_eq(rows.rows[0].cell[SAND_STEP_SOURCE], "Measured by A, \"here\"");
    cr_assert_str_eq(rows.rows[0].cell[SAND_STEP_EXPERTS], "");
    cr_assert_str_eq(rows.rows[0].cell[SAND_STEP_TIME], "1.5");
    sand_step_rows_clear(&rows);
}

// Spreadsheets put a byte order mark before the first name, and end lines as in DOS.
Test(rows, byte_order_mark_and_carriage_returns)
{
    char text[2048];
    struct sand_diag diag = {0};
    snprintf(text, sizeof text, "\xef\xbb\xbf%.*s\r\na,\"Measured by A\"" DENSE "%s",
             (int)strcspn(header, "\n"), header, "1,1,,1,FSDP,2,64,bf16,full,,fast,1.5,,\r\n");
    cr_assert_eq(read_text(text, &diag), SAND_OK);
    cr_assert_eq(rows.n, 1u);
    cr_expect_str_eq(rows.rows[0].cell[SAND_STEP_ID], "a");
    cr_expect_str_eq(rows.rows[0].cell[SAND_STEP_TOKENS], "");
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
}

Test(rows, columns_that_no_row_can_do_without)
{
    struct sand_diag diag = {0};
    cr_assert_eq(read_text("id,source\na,b\n", &diag), SAND_ERR_INPUT);
    cr_assert(strstr(diag.messages[0].text, "\"layers\"") != NULL, "%s", diag.messages[0].text);
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
    // Semicolons make one column of all: the message says what to do.
    strcpy(path, "/tmp/sand-steps-XXXXXX");
    cr_assert_eq(read_text("id;source;gpu\na;b;c\n", &diag), SAND_ERR_INPUT);
    cr_assert(strstr(diag.messages[0].text, "separated by ';'") != NULL, "%s",
              diag.messages[0].text);
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
    strcpy(path, "/tmp/sand-steps-XXXXXX");
    cr_assert_eq(read_text("id,\"source\nlayers,hidden\n", &diag), SAND_ERR_INPUT);
    cr_assert(strstr(diag.messages[0].text, "header cannot be read") != NULL, "%s",
              diag.messages[0].text);
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
}

#define REST "1,1,,1,FSDP,2,64,bf16,full,,fast,1.5,,\n"

// What breaks a row leaves its neighbours: each is read, or kept with its line and what is wrong.
Test(rows, broken_rows_leave_the_others)
{
    static const char *const lines[] = {
        "a,Measured by A" DENSE REST,      // sound
        "b,\"Measured by A" DENSE REST,    // a quote that is not closed
        "c,Measured \"by\" A" DENSE REST,  // one inside a cell
        ",,,,,,,,,\n\n",                   // nothing
        "d,\"Measured\nby A\"" DENSE REST, // two lines in one cell
        "e,Measured, by A" DENSE "1,1,,1,FSDP,2,64,bf16,full,,fast,1.5,,,too many\n",
        "f,Measured\x1b by A" DENSE REST,    // a control character
        "g,Measured by A" DENSE "1,1\n",     // cut off
        ",Measured by A" DENSE REST,         // without a name
        "h,\"Measured by A" DENSE "1,1,,1"}; // cut off within a quote
    char text[8192] = "";
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        strcat(text, lines[i]);
    read_rows(text);
    const struct {
        const char *id, *fault;
    } expected[] = {{"a", NULL},
                    {"line 3", "line 3: its quotes are broken"},
                    {"line 4", "line 4: its quotes are broken"},
                    {"d", NULL},
                    {"line 9", "put cells that hold a comma into quotes"},
                    {"line 10", "control character 0x1b"},
                    {"g", NULL},
                    {"line 12", NULL},
                    {"line 13", "line 13: its quotes are broken"}};
    cr_assert_eq(rows.n, sizeof expected / sizeof expected[0], "%zu", rows.n);
    for (size_t i = 0; i < rows.n; i++) {
        const char *fault = rows.rows[i].fault;
        cr_expect_str_eq(rows.rows[i].cell[SAND_STEP_ID], expected[i].id);
        cr_expect_eq(fault == NULL, expected[i].fault == NULL, "row %zu: %s", i, fault);
        if (fault && expected[i].fault)
            cr_expect(strstr(fault, expected[i].fault) != NULL, "row %zu: %s", i, fault);
        cr_expect(fault == NULL || cases[i].class == SAND_STEP_SKIPPED);
    }
    cr_expect_str_eq(rows.rows[3].cell[SAND_STEP_SOURCE], "Measured\nby A");
    sand_step_rows_clear(&rows);
}

// A file of broken rows is refused rather than reported a million times.
Test(rows, too_many_broken_rows)
{
    struct sand_diag diag = {0};
    char *text = calloc(1, 1 << 16);
    cr_assert_not_null(text);
    strcpy(text, header);
    for (int i = 0; i < 1100; i++)
        strcat(text, "a,b \"c\",d\n");
    cr_assert_eq(read_text(text, &diag), SAND_ERR_INPUT);
    cr_assert(strstr(diag.messages[0].text, "more than 1000 rows") != NULL, "%s",
              diag.messages[0].text);
    free(text);
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
}

Test(cases, split_and_machine_from_the_cells)
{
    read_rows("a,Measured by A" DENSE "2,2,2,2,ZeRO-1,2,64,bf16,full,,fast,1.5,,\n"
              "b,Measured elsewhere" DENSE "1,1,,1,FSDP FULL_SHARD,2,64,bf16,none,,slow,1.5,,\n"
              "c,Measured by A" DENSE "1,1,,,SHARD_GRAD_OP,4,64,bf16,selective (op),,,,1000,\n");
    const struct sand_split *a = &cases[0].job.split, *b = &cases[1].job.split;
    cr_assert_eq(cases[0].class, SAND_STEP_SCORED, "%s", cases[0].why);
    cr_assert_str_eq(cases[0].machine->id, "here");
    cr_assert(a->tp == 2 && a->pp == 2 && a->cp == 2 && a->dp == 2 && a->virtual_stages == 2);
    cr_assert_eq(a->recompute, SAND_RECOMPUTE_FULL);
    cr_assert(a->distributed_optimizer && a->sequence_parallel && a->overlap_grad_reduce);
    cr_assert_eq(a->sharding, SAND_SHARD_OPTIMIZER);
    cr_assert_str_eq(cases[1].stack->id, "second");
    cr_assert_str_eq(cases[1].machine->id, "there");
    cr_assert_eq(b->sharding, SAND_SHARD_PARAMETERS);
    cr_assert(!b->overlap_grad_reduce && b->dp == 16);
    cr_assert_eq(cases[1].job.n_nodes, 2);
    cr_assert_eq(cases[2].job.split.sharding, SAND_SHARD_GRADIENTS);
    cr_assert_eq(cases[2].job.split.recompute, SAND_RECOMPUTE_PARTIAL);
    cr_assert_float_eq(cases[2].job.split.recompute_share, 0.5, 0);
    // 64 sequences of 2,048 tokens at 1,000 tokens/s on each of 16 GPUs
    cr_assert_float_eq(cases[2].measured_s, 64 * 2048 / 16000.0, 1e-12);
    sand_step_rows_clear(&rows);
}

Test(cases, what_cannot_be_scored_says_why)
{
    read_rows(
        "odd,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.5,,\n"
        "a,Measured by A" DENSE "1,1,,1,FSDP,,64,bf16,,,,1.5,,\n"
        "b,Measured by A" DENSE "1,1,,1,FSDP,2,64,,,,,1.5,,\n"
        "c,Measured by A,no,M,4,1024,8,8,4096,32000,2048,,G1,16,2,1,1,,1,,2,64,bf16,,,,1.5,,\n"
        "d,Guessed" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.5,,\n"
        "e,Measured by A,yes,M,4,1024,8,8,4096,32000,2048,64,G1,16,2,1,1,,1,,2,64,bf16,,,,1.5,,\n"
        "f,Measured by A,yes,M,4,1024,8,8,4096,32000,2048,,G2,16,2,1,1,,1,,2,64,bf16,,,,1.5,,\n"
        "g,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,,,\n"
        "h,Measured by A" DENSE "3,1,,1,FSDP,2,64,bf16,,,,1.5,,\n"
        "i,Measured by A" DENSE "1,1,,1,FSDP,2,64,fp8,,,,1.5,,\n");
    const struct {
        enum sand_step_class class;
        const char *why;
    } expected[] = {{SAND_STEP_ILL, "contradicts another"},
                    {SAND_STEP_ILL, "micro_batch is not given"},
                    {SAND_STEP_ILL, "precision is not given"},
                    {SAND_STEP_ILL, "recalled"},
                    {SAND_STEP_SKIPPED, "no rule knows the software"},
                    {SAND_STEP_ILL, "moe_topk is not given"},
                    {SAND_STEP_SKIPPED, "no rule knows the accelerator"},
                    {SAND_STEP_SKIPPED, "neither a step time"},
                    {SAND_STEP_SKIPPED, "does not divide"},
                    {SAND_STEP_SKIPPED, "has no rate"}};
    for (size_t i = 0; i < rows.n; i++) {
        cr_expect_eq(cases[i].class, expected[i].class, "row %zu: %s", i, cases[i].why);
        cr_expect(strstr(cases[i].why, expected[i].why) != NULL, "row %zu: %s", i, cases[i].why);
    }
    sand_step_rows_clear(&rows);
}

// Words count in upper and lower case; a word that means nothing is not silently taken for blank.
Test(cases, words_of_other_hands)
{
    read_rows("a,Measured by A,YES,M,4,1024,8,8,4096,32000,2048,,g1,16,2,"
              "2,1,,1,zero-3,2,64,BF16 mixed,Full,True,,1.5,,\n"
              "b,Measured by A" DENSE "2,1,,1,DDP,2,64,Fp16,NONE,No,,1.5,,\n"
              "c,Measured by A" DENSE "2,1,,1,offload,2,64,bf16,,,,1.5,,\n"
              "d,Measured by A" DENSE "2,1,,1,,2,64,bf16,,maybe,,1.5,,\n"
              "e,Measured by A,No,M,4,1024,8,8,4096,32000,2048,,G1,16,2,"
              "2,1,,1,,2,64,bf16,,,,1.5,,\n");
    const struct sand_split *a = &cases[0].job.split, *b = &cases[1].job.split;
    cr_expect_eq(cases[0].class, SAND_STEP_SCORED, "%s", cases[0].why);
    cr_expect_eq(a->sharding, SAND_SHARD_PARAMETERS);
    cr_expect(a->recompute == SAND_RECOMPUTE_FULL && a->sequence_parallel);
    cr_expect_eq(a->precision, SAND_BF16);
    cr_expect_eq(cases[1].class, SAND_STEP_SCORED, "%s", cases[1].why);
    cr_expect(!b->distributed_optimizer && !b->sequence_parallel, "DDP shares nothing out");
    cr_expect(b->precision == SAND_FP16 && b->recompute == SAND_RECOMPUTE_NONE);
    static const char *const why[] = {"zero_or_fsdp \"offload\" is not known",
                                      "seq_parallel \"maybe\" is neither", "recalled"};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(cases[i + 2].class, SAND_STEP_ILL);
        cr_expect(strstr(cases[i + 2].why, why[i]) != NULL, "%s", cases[i + 2].why);
    }
    sand_step_rows_clear(&rows);
}

Test(cases, experts_are_read)
{
    static const char with_experts[] =
        "id,source,confirmed,model,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,"
        "moe_experts,moe_topk,gpu,gpus,nodes,TP,PP,VP,CP,EP,zero_or_fsdp,micro_batch,global_batch,"
        "precision,recompute,seq_parallel,network,iter_time_s,tokens_per_s_gpu\n"
        "a,Measured by A,yes,M,4,1024,8,8,512,32000,2048,16,2,G1,16,2,2,1,,1,4,,2,64,bf16,,,,1.5,\n"
        "b,Measured by "
        "A,yes,M,4,1024,8,8,512,32000,2048,16,2,G1,16,2,4,1,,1,16,,2,64,bf16,,,,1.5,\n"
        "c,Measured by A,yes,DeepSeek-V3,8,7168,128,128,2048,129280,2048,256,8,G1,16,2,1,1,,1,8,,1,"
        "64,bf16,,,,1.5,\n"
        "d,Measured by A,yes,DeepSeek-V3,61,,,,,,2048,256,8,G1,16,2,1,1,,1,8,,1,64,bf16,,,,1.5,\n"
        "e,Measured by A,yes,M,4,1024,8,8,4096,32000,2048,0,,G1,16,2,1,1,,1,,,2,64,bf16,,,,1.5,\n"
        "f,Measured by A,yes,M,4,1024,8,8,512,32000,2048,16,2,G1,16,2,2,1,,1,,,2,64,bf16,,,,1.5,\n";
    struct sand_diag diag = {0};
    cr_assert_eq(read_text(with_experts, &diag), SAND_OK);
    for (size_t i = 0; i < rows.n; i++)
        sand_step_case_read(&rules, &rows.rows[i], &cases[i]);
    const struct sand_transformer *a = &cases[0].model, *c = &cases[2].model;
    cr_assert_eq(cases[0].class, SAND_STEP_SCORED, "%s", cases[0].why);
    cr_assert(a->experts.n == 16 && a->experts.per_token == 2 && a->experts.ffn_hidden == 512);
    cr_assert(a->gated_ffn && !a->tied_embeddings && cases[0].job.split.ep == 4);
    cr_assert_eq(sand_split_expert_tp(&cases[0].job.split), 2u, "as tp where that fits");
    cr_assert_eq(sand_split_expert_tp(&cases[1].job.split), 1u, "whole where it does not");
    stacks[0].expert_tp = 1;
    struct sand_step_case whole;
    sand_step_case_read(&rules, &rows.rows[0], &whole);
    cr_assert_eq(sand_split_expert_tp(&whole.job.split), 1u, "as its stack does");
    struct sand_step_row one_group = rows.rows[0];
    one_group.cell[SAND_STEP_EP] = "1";
    sand_step_case_read(&rules, &one_group, &whole);
    cr_assert_eq(sand_split_expert_tp(&whole.job.split), 2u, "cut where ep cannot share them out");
    stacks[0].expert_tp = 0;
    // A proxy of eight layers has the rest of the known model.
    cr_assert_eq(cases[2].class, SAND_STEP_SCORED, "%s", cases[2].why);
    cr_assert(c->n_layers == 8 && c->latent.kv_rank == 512 && c->experts.shared == 1);
    cr_assert_eq(c->experts.dense_layers, 3u);
    cr_assert_eq(c->ffn_hidden, 18432u, "the column is the experts' width");
    cr_assert_eq(cases[3].class, SAND_STEP_ILL);
    cr_assert_eq(cases[3].model.hidden, 7168u);
    cr_assert_eq(cases[4].class, SAND_STEP_SCORED, "no experts: %s", cases[4].why);
    cr_assert_eq(cases[4].model.experts.n, 0u);
    cr_assert_eq(cases[5].class, SAND_STEP_ILL);
    cr_assert(strstr(cases[5].why, "EP is not given") != NULL, "%s", cases[5].why);
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
}

// Nothing but a positive number in reach is a number; the row is skipped before anything is assumed
// in the cell's place, and the report names row, column and value.
Test(cases, cells_that_are_no_numbers_are_named)
{
    read_rows("a,Measured by A,yes,M,-3,abc,8,8,4096,32000,0,,G1,4000000000,2,1,1,,1,FSDP,2,"
              "99999999999999999999,bf16,,,,1.5,,\n"
              "b,Measured by A" DENSE "1,1,x,1,FSDP,2.5,64,bf16,,,,nan,,\n"
              "c,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,0,1000,\n"
              "d,Guessed" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.5,inf,\n"
              "e,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.5,,\n");
    static const char *const said[] = {"row \"a\": layers \"-3\" is not a whole number from 1",
                                       "row \"a\": hidden \"abc\"",
                                       "row \"a\": seq_len \"0\"",
                                       "row \"a\": gpus \"4000000000\"",
                                       "row \"a\": global_batch \"99999999999999999999\"",
                                       "row \"b\": VP \"x\"",
                                       "row \"b\": micro_batch \"2.5\"",
                                       "row \"b\": iter_time_s \"nan\" is not a number above 0",
                                       "row \"c\": iter_time_s \"0\"",
                                       "row \"d\": tokens_per_s_gpu \"inf\"",
                                       "   4  cells that are no numbers",
                                       "\noverall: 0 rows\n"};
    for (size_t i = 0; i < 4; i++)
        cr_expect(cases[i].class == SAND_STEP_SKIPPED && cases[i].bad_cells != 0, "row %zu", i);
    cr_expect(cases[4].class == SAND_STEP_SCORED && cases[4].bad_cells == 0);
    memset(predictions, 0, sizeof predictions);
    const struct sand_step_results results = {
        .rules = &rules, .cases = cases, .predictions = predictions, .n = rows.n};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(sand_step_report_print(&results, out), SAND_OK);
    fclose(out);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        cr_expect(strstr(text, said[i]) != NULL, "%s\nis not in\n%s", said[i], text);
    cr_expect(strstr(text, "not given") == NULL && strstr(text, "-nan") == NULL, "%s", text);
    free(text);
    sand_step_rows_clear(&rows);
}

// One message, not one per missing column.
Test(rows, an_empty_or_binary_file_is_told_once)
{
    static const struct {
        const char *text, *said;
    } files[] = {{"", "is empty"}, {"\n \n", "is empty"}, {"id,\x01", "byte 4 is 0x01"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct sand_diag diag = {0};
        strcpy(path, "/tmp/sand-steps-XXXXXX");
        cr_expect_eq(read_text(files[i].text, &diag), SAND_ERR_INPUT);
        cr_assert_eq(diag.n_messages, 1u);
        cr_expect(strstr(diag.messages[0].text, files[i].said), "%s", diag.messages[0].text);
        sand_step_rows_clear(&rows);
        sand_diag_clear(&diag);
    }
}

static void predict(uint32_t jobs)
{
    struct sand_diag diag = {0};
    const struct sand_step_pass pass = {.rules = &rules, .cases = cases, .n = rows.n, .jobs = jobs};
    const enum sand_rc rc = sand_step_predict(&pass, predictions, NULL, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    cr_assert_eq(rc, SAND_OK);
}

// The answers do not depend on how many processes find them, and a row that the step level refuses
// has a reason instead.
Test(predictions, any_number_of_workers)
{
    read_rows("a,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.5,,\n"
              "b,Measured by A" DENSE "2,1,,1,,2,64,bf16,full,,,1.5,,\n"
              "c,Measured by A" DENSE "1,1,,1,FSDP,2,63,bf16,,,,1.5,,\n"
              "d,Guessed" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.5,,\n");
    predict(1);
    double alone_s[4];
    for (size_t i = 0; i < 4; i++)
        alone_s[i] = predictions[i].step_s;
    predict(3);
    for (size_t i = 0; i < 4; i++)
        cr_expect(predictions[i].step_s == alone_s[i], "row %zu", i);
    cr_assert(alone_s[0] > 0 && alone_s[1] > 0 && alone_s[2] == 0 && alone_s[3] == 0);
    cr_assert(strstr(predictions[2].why, "global_batch") != NULL, "%s", predictions[2].why);
    sand_step_rows_clear(&rows);
}

// What to do about a row stands at the end of the step level's message.
Test(predictions, long_reasons_are_kept_whole)
{
    read_rows("a,Measured by A" DENSE "1,1,,1,FSDP,2,1000000000,bf16,,,,1.5,,\n");
    predict(1);
    const char *why = predictions[0].why, *end = strstr(why, "or lower global_batch");
    cr_assert(strlen(why) > 120 && end && strcmp(end, "or lower global_batch") == 0, "%s", why);
    sand_step_rows_clear(&rows);
}

// Errors by hand: +10 %, -10 %, +20 %; the listed row does not count. The two rows that are equal
// in every input were measured at 1.0 and 1.2 s: each is 1/11 off their mean.
Test(report, figures_by_hand)
{
    read_rows("a,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.0,,\n"
              "b,Measured by A" DENSE "1,1,,1,FSDP,2,64,bf16,,,,1.2,,\n"
              "c,Measured by A" DENSE "1,1,,1,FSDP,4,64,bf16,,,,2.0,,\n"
              "odd,Measured by A" DENSE "1,1,,1,FSDP,4,64,bf16,,,,2.0,,\n");
    const double predicted_s[] = {1.1, 1.08, 2.4, 9};
    for (size_t i = 0; i < 4; i++)
        predictions[i] = (struct sand_step_prediction){.step_s = predicted_s[i]};
    const struct sand_step_results results = {
        .rules = &rules, .cases = cases, .predictions = predictions, .n = rows.n};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(sand_step_report_print(&results, out), SAND_OK);
    fclose(out);
    const char *last = strstr(text, "\noverall: ");
    cr_assert(last != NULL);
    cr_assert_str_eq(last, "\noverall: 3 rows, median 10.00 %, mean 13.33 %, bias +6.67 %\n");
    cr_assert(strstr(text, "9.1% over 2 rows in 1 groups") != NULL, "%s", text);
    cr_assert(strstr(text, "contradicts another") != NULL);
    free(text);
    sand_step_rows_clear(&rows);
}

// ---- what rows leave open -----------------------------------------------------------------------

// Without TP and PP the first split counts that fits: here one GPU holds 1.5e9 parameters with
// their state shared out, and not 26e9 that every copy would hold.
Test(rest, splits_that_are_not_given_are_the_first_that_fit)
{
    struct sand_step_case *c = &cases[0];
    read_rows("a,Measured by A" DENSE ",,,1,,1,64,bf16,full,,fast,1.5,,\n"
              "b,Measured by A,yes,M,64,6144,64,64,24576,32000,2048,,G1,16,2,,,,1,none,1,64,bf16,"
              "full,,fast,1.5,,\n"
              "c,Measured by A" DENSE ",,,1,,1,8,bf16,full,,fast,1.5,,\n");
    cr_expect_eq(c->class, SAND_STEP_ILL);
    cr_expect(c->job.split.tp == 1 && c->job.split.pp == 1 && c->job.split.dp == 16);
    cr_expect_gt(cases[1].job.split.tp * cases[1].job.split.pp, 4u);
    cr_expect_eq(cases[1].job.split.tp * cases[1].job.split.pp * cases[1].job.split.dp, 16u);
    // Eight sequences do for eight replicas at most.
    cr_expect_eq(cases[2].job.split.tp, 2u);
    cr_expect_eq(cases[2].job.split.dp, 8u);
    sand_step_rows_clear(&rows);
}

// 16 GPUs at 100 TFLOP/s each: six FLOPs a weight and token, twelve a key and column of attention
// without the mask, half of them with it.
Test(rest, times_behind_flops)
{
    struct sand_step_stack counting[] = {stacks[0], stacks[0]};
    counting[0].id = "full";
    counting[0].source = "full";
    counting[0].counts = SAND_COUNTS_FULL;
    counting[1].id = "causal";
    counting[1].source = "causal";
    counting[1].counts = SAND_COUNTS_CAUSAL;
    struct sand_step_rules mine = rules;
    mine.stacks = counting;
    mine.n_stacks = 2;
    static const char text[] =
        "id,source,model,layers,hidden,heads,ffn_hidden,vocab,seq_len,gpu,gpus,TP,PP,zero_or_fsdp,"
        "micro_batch,global_batch,precision,tflops_per_gpu\n"
        "a,full,M,4,1024,8,4096,32000,2048,G1,16,1,1,FSDP,2,64,bf16,100\n"
        "b,causal,M,4,1024,8,4096,32000,2048,G1,16,1,1,FSDP,2,64,bf16,100\n";
    struct sand_diag diag = {0};
    cr_assert_eq(read_text(text, &diag), SAND_OK);
    const double weights = 4 * 12 * 1024.0 * 1024 + 32000 * 1024.0, tokens = 64 * 2048;
    for (int causal = 0; causal < 2; causal++) {
        struct sand_step_case c;
        sand_step_case_read(&mine, &rows.rows[causal], &c);
        const double attention = 12.0 * 4 * 2048 * 1024 / (causal ? 2 : 1);
        const double expected_s = tokens * (6 * weights + attention) / (16 * 100e12);
        cr_expect_eq(c.class, SAND_STEP_APART, "%s", c.why);
        cr_expect_float_eq(c.measured_s / expected_s, 1, 1e-9, "%g, expected %g", c.measured_s,
                           expected_s);
    }
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
}

// A name that is of one model alone tells the widths that a row leaves blank.
Test(rest, whole_models_by_their_names)
{
    struct sand_step_known whole[] = {knowns[0]};
    whole[0].name = "Big Model-7B";
    whole[0].whole = 1;
    struct sand_step_rules mine = rules;
    mine.knowns = whole;
    mine.n_knowns = 1;
    static const char text[] =
        "id,source,model,layers,hidden,heads,ffn_hidden,vocab,seq_len,gpu,gpus,TP,PP,zero_or_fsdp,"
        "micro_batch,global_batch,precision,iter_time_s,EP,moe_experts,moe_topk\n"
        "a,Measured by A,7b big model,,,,,,2048,G1,16,1,1,FSDP,2,64,bf16,1,,,\n"
        "b,Measured by A,7c big model,,,,,,2048,G1,16,1,1,FSDP,2,64,bf16,1,,,\n";
    struct sand_diag diag = {0};
    struct sand_step_case c;
    cr_assert_eq(read_text(text, &diag), SAND_OK);
    sand_step_case_read(&mine, &rows.rows[0], &c);
    cr_expect_eq(c.class, SAND_STEP_SCORED, "%s", c.why);
    cr_expect_eq(c.model.n_layers, whole[0].model->n_layers);
    sand_step_case_read(&mine, &rows.rows[1], &c);
    cr_expect_eq(c.class, SAND_STEP_SKIPPED);
    cr_expect(strstr(c.why, "no rule knows the model \"7c big model\"") != NULL, "%s", c.why);
    sand_step_rows_clear(&rows);
    sand_diag_clear(&diag);
}

// What a source's scripts say takes the place of blanks, and a tokenizer that stands in that of the
// vocabulary; a precision filled in leaves the row unscored, other sources are left alone.
Test(cases, a_recipe_fills_what_rows_leave_blank)
{
    static struct sand_step_recipe recipe = {"proxy", "by A", "M", "G1", 1024, "full", "fp16", ""};
    struct sand_step_rules mine = rules;
    mine.recipes = &recipe;
    mine.n_recipes = 1;
    read_rows("a,Measured by A" DENSE "1,1,,1,,2,64,bf16,,,fast,1.5,,\n"
              "b,Measured by A" DENSE "1,1,,1,,2,64,bf16,selective,,fast,1.5,,\n"
              "c,Measured by A" DENSE "1,1,,1,,2,64,,,,fast,1.5,,\n"
              "d,Measured" DENSE "1,1,,1,,2,64,,,,fast,1.5,,\n");
    for (size_t i = 0; i < rows.n; i++)
        sand_step_case_read(&mine, &rows.rows[i], &cases[i]);
    cr_expect_eq(cases[0].class, SAND_STEP_SCORED);
    cr_expect_eq(cases[0].model.vocab, 1024);
    cr_expect_eq(cases[0].job.split.recompute, SAND_RECOMPUTE_FULL);
    cr_expect_eq(cases[1].job.split.recompute, SAND_RECOMPUTE_PARTIAL, "what the row says counts");
    cr_expect_eq(cases[2].job.split.precision, SAND_FP16);
    cr_expect_eq(cases[2].class, SAND_STEP_ILL);
    cr_expect_eq(cases[3].model.vocab, 32000);
    cr_expect_eq(cases[3].job.split.recompute, SAND_RECOMPUTE_NONE);
    cr_expect_eq(cases[3].job.split.precision, SAND_BF16);
    sand_step_rows_clear(&rows);
}
