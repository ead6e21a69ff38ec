// Field tables of the rules that say what a row of measured steps means.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "spectable.h"
#include "steprules.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)
#define CHILDREN(array) .children = (array), .n_children = SPEC_COUNT(array)
#define STACK_FLAG(member, preset_text)                                                            \
    SPEC_MEMBER(SPEC_YESNO, struct sand_step_stack, member), SPEC_PRESET(preset_text)

static const char *const counting_words[] = {[SAND_COUNTS_UNKNOWN] = "unknown",
                                             [SAND_COUNTS_CAUSAL] = "causal",
                                             [SAND_COUNTS_FULL] = "full",
                                             NULL};
static const char *const batch_words[] = {"replica", "gpu", NULL};

static const struct spec_field stack_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_step_stack, id), .doc = "Name in reports."},
    {.name = "source",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_stack, source),
     .need = SPEC_OPTIONAL,
     .doc =
         "Text that the row's source contains; the first stack that fits counts. Without it every "
         "source does."},
    {.name = "gpu",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_stack, gpu),
     .need = SPEC_OPTIONAL,
     .doc = "Text that the row's gpu begins with."},
    {.name = "sharding",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_stack, sharding),
     .need = SPEC_OPTIONAL,
     .doc = "Text that the row's zero_or_fsdp begins with."},
    {.name = "software",
     SPEC_REFERENCE(SPEC_SOFTWARE, struct sand_step_stack, software),
     .doc = "The stack."},
    {.name = "attention",
     SPEC_MEMBER(SPEC_WORD, struct sand_step_stack, attention),
     .words = spec_attention_words,
     SPEC_PRESET("fused"),
     .doc = "Its attention kernels."},
    {.name = "order",
     SPEC_MEMBER(SPEC_WORD, struct sand_step_stack, order),
     .words = spec_order_words,
     SPEC_PRESET("tp-cp-dp-pp"),
     .doc = "Its rank order."},
    {.name = "overlap",
     STACK_FLAG(overlap, "yes"),
     .doc = "Data-parallel traffic runs beside compute."},
    {.name = "sequence_parallel",
     STACK_FLAG(sequence_parallel, "yes"),
     .doc = "Where the row does not say."},
    {.name = "distributed_optimizer",
     STACK_FLAG(distributed_optimizer, "yes"),
     .doc = "Where the row does not say."},
    {.name = "gradient",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_step_stack, grad_B),
     SPEC_POSITIVE,
     SPEC_PRESET("4B"),
     .doc = "Bytes per gradient element reduced."},
    {.name = "dispatch",
     SPEC_MEMBER(SPEC_WORD, struct sand_step_stack, dispatch),
     .words = spec_dispatch_words,
     SPEC_PRESET("all-to-all"),
     .doc = "How its tokens reach their experts."},
    {.name = "dispatch_element",
     SPEC_QUANTITY(SAND_DIM_BYTES, struct sand_step_stack, dispatch_B),
     SPEC_POSITIVE,
     SPEC_PRESET("2B"),
     .doc = "Bytes of an element on its way to the experts."},
    {.name = "expert_tp",
     SPEC_WHOLE(struct sand_step_stack, expert_tp),
     SPEC_PRESET("0"),
     .doc = "Tensor-parallel size of its experts; 0: as the rest of the layer where that fits "
            "(Megatron-Core's default), else 1."},
    {.name = "bucket",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_step_stack, bucket_params),
     SPEC_POSITIVE,
     SPEC_PRESET("40e6"),
     .doc =
         "Parameters in a bucket of the overlapped collectives, unless they go by layer; Megatron-"
         "LM, megatron/core/distributed: 40 million."},
    {.name = "bucket_per_replica",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_step_stack, bucket_per_replica),
     SPEC_PRESET("1e6"),
     .doc = "And at least as many for every replica; there: a million."},
    {.name = "selective_share",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_step_stack, selective_share),
     SPEC_PRESET("0"),
     .doc = "Share of the forward that its selective recomputation runs again; 0: norms, "
            "activation and unfused attention, as in Megatron."},
    {.name = "collectives",
     SPEC_REFERENCE(SPEC_COLLECTIVES, struct sand_step_stack, collectives),
     .need = SPEC_OPTIONAL,
     .doc = "How its library runs collectives, where not as the rules say."},
    {.name = "micro_batch",
     SPEC_MEMBER(SPEC_WORD, struct sand_step_stack, batch_of_gpu),
     .words = batch_words,
     SPEC_PRESET("replica"),
     .doc = "Whose sequences the row's micro_batch counts: of a replica, or a GPU's share of them. "
            "Then a row without global_batch has one micro-batch a step."},
    {.name = "counts",
     SPEC_MEMBER(SPEC_WORD, struct sand_step_stack, counts),
     .words = counting_words,
     SPEC_PRESET("unknown"),
     .doc =
         "FLOPs that the source's tflops_per_gpu counts: attention under the causal mask or all of "
         "it; weights six a token, the output layer once, no recomputation. Rows without a time "
         "are then predicted beside the time that this rate gives, and summed up apart."},
};

const struct spec_element spec_stack = {.name = "stack",
                                        .key = "stack",
                                        FIELDS(stack_fields),
                                        .size = sizeof(struct sand_step_stack),
                                        .doc = "Which rows a software stack explains."};

static const struct spec_field machine_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_step_machine, id), .doc = "Name in reports."},
    {.name = "gpu",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_machine, gpu),
     .doc =
         "The row's gpu; the first machine that fits counts, else the one of most words that the "
         "cell has all."},
    {.name = "network",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_machine, network),
     .need = SPEC_OPTIONAL,
     .doc = "Text that the row's network contains."},
    {.name = "node",
     SPEC_REFERENCE(SPEC_NODE, struct sand_step_machine, node),
     .doc = "The scale-up domain; a job may use part of its GPUs and as large a part of its NICs."},
};

const struct spec_element spec_machine = {.name = "machine",
                                          .key = "machine",
                                          FIELDS(machine_fields),
                                          .size = sizeof(struct sand_step_machine),
                                          .doc = "Which rows were measured on a kind of node."};

static const struct spec_field known_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_step_known, id), .doc = "Name in reports."},
    {.name = "name",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_known, name),
     .doc =
         "Text that the row's model begins with; the first that fits counts, else the one of most "
         "words that the cell has all."},
    {.name = "whole",
     SPEC_MEMBER(SPEC_YESNO, struct sand_step_known, whole),
     SPEC_PRESET("no"),
     .doc =
         "The name is of this model alone, never of a proxy with fewer layers: blank widths leave "
         "nothing open."},
    {.name = "model",
     SPEC_REFERENCE(SPEC_MODEL, struct sand_step_known, model),
     .doc = "The model. Widths that the row gives take its place, fewer layers make it a proxy."},
};

const struct spec_element spec_known = {
    .name = "known",
    .key = "known",
    FIELDS(known_fields),
    .size = sizeof(struct sand_step_known),
    .doc = "A model of which the columns do not tell everything: latent attention, shared experts, "
           "first dense layers, windows, gate, head size."};

#define RECIPE_TEXT(text_name, member, text_doc)                                                   \
    {                                                                                              \
        .name = text_name, SPEC_MEMBER(SPEC_TEXT, struct sand_step_recipe, member),                \
        .need = SPEC_OPTIONAL, .doc = text_doc                                                     \
    }

static const struct spec_field recipe_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_step_recipe, id), .doc = "Name."},
    {.name = "source",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_recipe, source),
     .doc = "Text that the row's source contains; the first recipe that fits counts."},
    RECIPE_TEXT("model", model, "Text that the row's model begins with."),
    RECIPE_TEXT("gpu", gpu, "Text that the row's gpu begins with."),
    {.name = "vocab",
     SPEC_WHOLE(struct sand_step_recipe, vocab),
     SPEC_PRESET("0"),
     .doc = "Vocabulary trained, in place of the row's, which is the model's; 0: the row's."},
    RECIPE_TEXT("recompute", recompute, "What the row's recompute would say, where it is blank."),
    RECIPE_TEXT("precision", precision,
                "What the row's precision would say, where it is blank; the row stays listed, as "
                "it does not say so itself."),
    {.name = "from",
     SPEC_MEMBER(SPEC_TEXT, struct sand_step_recipe, from),
     .doc = "File or page that says so."},
};

const struct spec_element spec_recipe = {
    .name = "recipe",
    .key = "recipe",
    FIELDS(recipe_fields),
    .size = sizeof(struct sand_step_recipe),
    .doc = "What a source's scripts and READMEs say of its runs and its rows do not."};

static const struct spec_field flag_fields[] = {
    {.name = "id",
     SPEC_MEMBER(SPEC_ID, struct sand_step_flag, id),
     .doc = "The row's id; it is predicted and listed, not scored."},
    {.name = "why", SPEC_MEMBER(SPEC_TEXT, struct sand_step_flag, why), .doc = "The reason."},
};

const struct spec_element spec_flag = {.name = "flag",
                                       .key = "flag",
                                       FIELDS(flag_fields),
                                       .size = sizeof(struct sand_step_flag),
                                       .doc = "A row that contradicts another."};

static const struct spec_field rules_fields[] = {
    SPEC_ENTRY_HEAD(struct sand_step_rules),
    {.name = "kernels",
     SPEC_REFERENCE(SPEC_KERNELS, struct sand_step_rules, kernels),
     SPEC_PRESET("sandtable:kernels/transformer"),
     .doc = "Costs of kernel classes."},
    {.name = "collectives",
     SPEC_REFERENCE(SPEC_COLLECTIVES, struct sand_step_rules, collectives),
     SPEC_PRESET("sandtable:collectives/nccl"),
     .doc = "How the library runs collectives."},
};

#define LIST(of, member)                                                                           \
    {                                                                                              \
        .element = &spec_##of, .place = SPEC_ARRAY,                                                \
        .offset = offsetof(struct sand_step_rules, member),                                        \
        .count_offset = offsetof(struct sand_step_rules, n_##member)                               \
    }

static const struct spec_child rules_children[] = {LIST(stack, stacks), LIST(machine, machines),
                                                   LIST(known, knowns), LIST(recipe, recipes),
                                                   LIST(flag, flags)};

const struct spec_element spec_step_rules = {
    .name = "step_rules",
    .key = "step_rules",
    FIELDS(rules_fields),
    CHILDREN(rules_children),
    .size = sizeof(struct sand_step_rules),
    .doc = "What rows of measured training steps mean, for `sandtable validate-steps`."};
