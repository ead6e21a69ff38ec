// Options that several subcommands share.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "mem.h"
#include "units.h"

// ---- misspelt options
// -----------------------------------------------------------------------------

enum { MAX_NAMES = 64 };

struct names {
    const char *names[MAX_NAMES];
    size_t n;
};

static void gather_names(const struct argp *argp, struct names *names)
{
    const struct argp_option *option = argp->options;
    for (; option && (option->name || option->key || option->doc); option++)
        if (option->name && names->n < MAX_NAMES)
            names->names[names->n++] = option->name;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        gather_names(child->argp, names);
}

// getopt takes any unambiguous beginning of a name.
static int is_known(const struct names *names, const char *word, size_t length)
{
    for (size_t i = 0; i < names->n; i++)
        if (strncmp(names->names[i], word, length) == 0)
            return 1;
    return 0;
}

static void check_spelling(const struct names *names, const char *program, const char *argument)
{
    char word[64];
    size_t length = strcspn(argument + 2, "=");
    if (length >= sizeof word || is_known(names, argument + 2, length))
        return;
    memcpy(word, argument + 2, length);
    word[length] = '\0';
    const char *nearest = sand_nearest(word, names->names, names->n);
    if (!nearest)
        return; // argp says that it is unknown
    fprintf(stderr, "%s: there is no option --%s; did you mean --%s?\n", program, word, nearest);
    fprintf(stderr, "Try `%s --help' for more information.\n", program);
    exit(argp_err_exit_status);
}

void sand_cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    struct names names = {.names = {"help", "usage"}, .n = 2};
    gather_names(argp, &names);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0)
            check_spelling(&names, argv[0], argv[i]);
    argp_parse(argp, argc, argv, 0, NULL, input);
}

error_t sand_cli_pass_input(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

// ---- values
// ---------------------------------------------------------------------------------------

uint32_t sand_cli_count(struct argp_state *state, const char *option, const char *text,
                        uint32_t min)
{
    double value;
    char why[200] = "";
    if (sand_quantity_parse(text, SAND_DIM_COUNT, &value, why, sizeof why) != SAND_OK)
        argp_error(state, "%s is \"%s\": %s", option, text, why);
    else if (value < min || value > 4294967294.0)
        argp_error(state, "%s is \"%s\": must be from %" PRIu32 " to 4294967294", option, text,
                   min);
    else
        return (uint32_t)value;
    return min;
}

void sand_cli_one_argument(struct argp_state *state, const char **slot, const char *argument)
{
    if (*slot)
        argp_error(state, "one file is enough, but there are \"%s\" and \"%s\"", *slot, argument);
    *slot = argument;
}

// ---- experiments
// ----------------------------------------------------------------------------------

enum { KEY_TRACE = 512 };

static const struct argp_option load_options[] = {
    {"set", 's', "PATH=VALUE", 0,
     "Change the experiment, e.g. --set \"@duration=7d\"; `sandtable schema --paths' lists the "
     "paths. May be given more than once",
     1},
    {"data", 'd', "DIR", 0,
     "Directory of the catalogue (holds platforms/ and workloads/); default: $SANDTABLE_DATA, "
     "else what was installed",
     1},
    {"trace", KEY_TRACE, "FILE", 0,
     "Read this file instead of the one that the experiment's <trace> names", 1},
    {0}};

void sand_cli_load_add(struct sand_cli_load *load, struct argp_state *state, const char *setting)
{
    void *array = load->settings;
    if (sand_grow(&array, &load->capacity, load->n_settings + 1, sizeof *load->settings) != SAND_OK)
        argp_failure(state, sand_rc_exit_status(SAND_ERR_NOMEM), 0, "out of memory");
    load->settings = array;
    load->settings[load->n_settings++] = setting;
}

static error_t parse_load(int key, char *arg, struct argp_state *state)
{
    struct sand_cli_load *load = state->input;
    switch (key) {
    case 's':
        if (!strchr(arg, '='))
            argp_error(state, "--set is \"%s\": has no value; write PATH=VALUE", arg);
        sand_cli_load_add(load, state, arg);
        return 0;
    case 'd':
        load->data = arg;
        return 0;
    case KEY_TRACE:
        load->trace = arg;
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &load->file, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (!load->is_optional)
            argp_error(state, "an experiment is needed, e.g. experiment.xml");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp sand_cli_load_argp = {load_options, parse_load, NULL, NULL, NULL, NULL, NULL};

void sand_cli_load_clear(struct sand_cli_load *load)
{
    sand_free(load->settings);
    *load = (struct sand_cli_load){0};
}

// ---- outputs
// --------------------------------------------------------------------------------------

static int is_same_file(const struct stat *target, const char *path)
{
    struct stat input;
    return path && stat(path, &input) == 0 && target->st_dev == input.st_dev &&
           target->st_ino == input.st_ino;
}

enum sand_rc sand_cli_check_output(const struct sand_cli_output *output, const char *const *inputs,
                                   size_t n, struct sand_diag *diag)
{
    struct stat there, target;
    const char *path = output->path;
    if (!path || lstat(path, &there) != 0)
        return SAND_OK;
    const int leads = stat(path, &target) == 0;
    for (size_t i = 0; leads && i < n; i++)
        if (is_same_file(&target, inputs[i]))
            return sand_fail(diag, SAND_ERR_USAGE,
                             "%s: is an input itself (%s); %s must name another file", path,
                             inputs[i], output->option);
    if (!S_ISREG(there.st_mode))
        return sand_fail(diag, SAND_ERR_USAGE, "%s: is no regular file; %s must name another", path,
                         output->option);
    return output->force ? SAND_OK
                         : sand_fail(diag, SAND_ERR_USAGE,
                                     "%s: exists; --force overwrites it, or name another", path);
}

// The directory a path names its file in, "." where it names none. *name: the file in it.
static int stat_directory(const char *path, struct stat *directory, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *text = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    *name = slash ? slash + 1 : path;
    const int found = text && stat(text, directory) == 0;
    free(text);
    return found;
}

enum sand_rc sand_cli_check_apart(const struct sand_cli_output *a, const struct sand_cli_output *b,
                                  struct sand_diag *diag)
{
    struct stat there, of_a, of_b;
    const char *name_a, *name_b;
    if (!a->path || !b->path)
        return SAND_OK;
    const int one_file = stat(a->path, &there) == 0
                             ? is_same_file(&there, b->path)
                             : stat_directory(a->path, &of_a, &name_a) &&
                                   stat_directory(b->path, &of_b, &name_b) &&
                                   of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino &&
                                   strcmp(name_a, name_b) == 0;
    return one_file ? sand_fail(diag, SAND_ERR_USAGE,
                                "%s: %s and %s name one file, and the second would replace the "
                                "first; name two",
                                b->path, a->option, b->option)
                    : SAND_OK;
}
