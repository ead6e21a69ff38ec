// Writes a node type: what was read, and from the catalogue what was not.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importnodetype.h"

#include <inttypes.h>

#include "importmarkup.h"
#include "units.h"

static void copy(struct import_xml *xml, const struct import_entry_of *like, const char *attribute)
{
    const char *value = import_entry_value(like, attribute);
    if (value != NULL)
        import_xml_attribute(xml, attribute, "%s", value);
}

static void write_nics(struct import_xml *xml, const struct import_node_type *type,
                       const struct import_entry_of *like, const char *nic)
{
    char text[64];
    if (type->n_nics > 0)
        import_xml_attribute(xml, "nics", "%" PRIu32, type->n_nics);
    else
        copy(xml, like, "nics");
    import_xml_attribute(xml, "nic", "%s", nic);
    fprintf(xml->out, "\n     ");
    if (type->host_link)
        import_xml_attribute(xml, "host_link", "%s", type->host_link);
    else
        copy(xml, like, "host_link");
    if (!type->has_storage_nics) {
        copy(xml, like, "storage_nics");
        copy(xml, like, "storage_nic_rate");
    } else if (type->n_storage_nics > 0) {
        import_xml_attribute(xml, "storage_nics", "%" PRIu32, type->n_storage_nics);
        if (type->storage_nic_Bps > 0)
            import_xml_attribute(xml, "storage_nic_rate", "%s",
                                 sand_quantity_canonical(type->storage_nic_Bps, SAND_DIM_BANDWIDTH,
                                                         text, sizeof text));
        else
            copy(xml, like, "storage_nic_rate");
    }
}

static const char *choose_nic(struct import_job *job, const struct import_node_type *type,
                              const struct import_entry_of *like)
{
    char text[48];
    const char *usual = import_entry_value(like, "nic");
    if (usual == NULL)
        usual = "";
    if (!(type->nic_Bps > 0)) {
        import_assume(job, "NICs as in %s: the input %s", like->id,
                      type->n_nics > 0 ? "does not say their rate" : "shows none");
        return usual;
    }
    const char *nic = import_link_of_rate(job, type->nic_Bps, usual);
    if (nic != NULL)
        return nic;
    import_deviate(
        job, 0, "the catalogue has no network link of %s; %s is written, define your own",
        sand_quantity_format(type->nic_Bps, SAND_DIM_BANDWIDTH, 6, text, sizeof text), usual);
    return usual;
}

static int has(const struct import_entry_of *like, const char *attribute)
{
    return import_entry_value(like, attribute) != NULL;
}

// The attributes that are written as those of `like`, and no others.
static const char *assumed_of(const struct import_node_type *type,
                              const struct import_entry_of *like, char *text, size_t size)
{
    int has_storage = !type->has_storage_nics && has(like, "storage_nics");
    int has_storage_rate =
        has(like, "storage_nic_rate") &&
        (!type->has_storage_nics || (type->n_storage_nics > 0 && !(type->storage_nic_Bps > 0)));
    const int has_nodes =
        type->has_scaleup && type->scaleup_nodes == 0 && has(like, "scaleup_nodes");
    snprintf(text, size, "gpu%s%s%s%s%s%s%s%s%s%s",
             type->has_scaleup && has(like, "scaleup") ? " scaleup" : "",
             type->has_scaleup && has(like, "scaleup_link") ? " scaleup_link" : "",
             has_nodes ? " scaleup_nodes" : "", type->n_nics > 0 ? "" : " nics",
             type->nic_Bps > 0 ? "" : " nic",
             type->host_link == NULL && has(like, "host_link") ? " host_link" : "",
             has_storage ? " storage_nics" : "", has_storage_rate ? " storage_nic_rate" : "",
             has(like, "max_power") ? " max_power" : "",
             has(like, "idle_power") ? " idle_power" : "");
    return text;
}

static uint32_t gpus_of(const struct import_entry_of *like)
{
    uint32_t n = 0;
    const char *gpus = import_entry_value(like, "gpus");
    return gpus != NULL && import_markup_count(gpus, &n) ? n : 0;
}

// Most of a server's power is that of its GPUs: with fewer of them, as much less.
static void write_power(struct import_xml *xml, const struct import_node_type *type,
                        const struct import_entry_of *like, const char *attribute)
{
    char why[160];
    double W = 0;
    const char *value = import_entry_value(like, attribute);
    uint32_t n_gpus = gpus_of(like);
    if (n_gpus == 0 || n_gpus == type->n_gpus || value == NULL ||
        sand_quantity_parse(value, SAND_DIM_POWER, &W, why, sizeof why) != SAND_OK) {
        copy(xml, like, attribute);
        return;
    }
    import_xml_attribute(xml, attribute, "%.9gkW", W * type->n_gpus / n_gpus / 1e3);
}

static void assume_server(struct import_job *job, const struct import_node_type *type,
                          const struct import_entry_of *like)
{
    uint32_t n_gpus = gpus_of(like);
    const char *n_storage = import_entry_value(like, "storage_nics");
    import_assume(job, "GPU%s and what else the input does not say are those of %s%s%s",
                  type->has_scaleup ? ", scale-up link" : "", like->id,
                  job->options->node ? "" : ", because ", job->options->node ? "" : type->because);
    if (n_gpus > 0 && n_gpus != type->n_gpus && has(like, "max_power"))
        import_assume(job,
                      "max_power and idle_power are %" PRIu32 "/%" PRIu32 " of those of %s, in "
                      "proportion to the GPUs; what the server itself takes may be more",
                      type->n_gpus, n_gpus, like->id);
    else if (has(like, "max_power"))
        import_assume(job, "max_power and idle_power are those of %s", like->id);
    if (!type->has_storage_nics && n_storage != NULL)
        import_assume(job,
                      "storage_nics=%s and storage_nic_rate are those of %s, whole: the input "
                      "shows no NIC that is for storage; delete them if there is none",
                      n_storage, like->id);
}

int import_node_type_write(struct import_job *job, const struct import_node_type *type)
{
    struct import_entry_of like;
    struct import_xml xml;
    char assumed[160];
    const char *id = job->options->node ? job->options->node : type->like;
    if (!import_entry_open(job, "node", id, &like))
        return 0;
    assume_server(job, type, &like);
    const char *nic = choose_nic(job, type, &like);
    int done = import_xml_open(job, &xml);
    if (done) {
        fprintf(xml.out, "<node xmlns=\"urn:sandtable:1\"");
        import_xml_attribute(&xml, "id", "%s",
                             job->options->name ? job->options->name : "imported");
        import_xml_attribute(&xml, "source", "%s, read by sandtable import %s", job->options->file,
                             sand_import_format_name(job->format));
        copy(&xml, &like, "date");
        import_xml_attribute(&xml, "assumed", "%s",
                             assumed_of(type, &like, assumed, sizeof assumed));
        fprintf(xml.out, "\n     ");
        copy(&xml, &like, "gpu");
        import_xml_attribute(&xml, "gpus", "%" PRIu32, type->n_gpus);
        if (type->has_scaleup) {
            copy(&xml, &like, "scaleup");
            copy(&xml, &like, "scaleup_link");
            if (type->scaleup_nodes > 0)
                import_xml_attribute(&xml, "scaleup_nodes", "%" PRIu32, type->scaleup_nodes);
            else
                copy(&xml, &like, "scaleup_nodes");
        }
        write_nics(&xml, type, &like, nic);
        fprintf(xml.out, "\n     ");
        write_power(&xml, type, &like, "max_power");
        write_power(&xml, type, &like, "idle_power");
        fprintf(xml.out, "/>\n");
        done = import_xml_close(job, &xml);
    }
    import_entry_close(&like);
    return done;
}
