// Writes a node type: what was read, and from the catalogue what was not.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "importnodetype.h"

#include <inttypes.h>

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
    import_xml_attribute(xml, "nics", "%" PRIu32, type->n_nics);
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
        import_assume(job, "NICs as in %s: the input does not say their rate", like->id);
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

static const char *assumed_of(const struct import_node_type *type)
{
    static const char *const lists[2][2] = {
        {"gpu scaleup_link host_link storage_nics storage_nic_rate max_power idle_power",
         "gpu scaleup_link host_link max_power idle_power"},
        {"gpu scaleup_link storage_nics storage_nic_rate max_power idle_power",
         "gpu scaleup_link max_power idle_power"}};
    return lists[type->host_link != NULL][type->has_storage_nics != 0];
}

int import_node_type_write(struct import_job *job, const struct import_node_type *type)
{
    struct import_entry_of like;
    struct import_xml xml;
    const char *id = job->options->node ? job->options->node : type->like;
    if (!import_entry_open(job, "node", id, &like))
        return 0;
    import_assume(job,
                  "GPU, scale-up link, power and what else the input does not say are those of "
                  "%s%s%s",
                  id, job->options->node ? "" : ", because ",
                  job->options->node ? "" : type->because);
    const char *nic = choose_nic(job, type, &like);
    int done = import_xml_open(job, &xml);
    if (done) {
        fprintf(xml.out, "<node xmlns=\"urn:sandtable:1\"");
        import_xml_attribute(&xml, "id", "%s",
                             job->options->name ? job->options->name : "imported");
        import_xml_attribute(&xml, "source", "%s, read by sandtable import %s", job->options->file,
                             sand_import_format_name(job->format));
        copy(&xml, &like, "date");
        import_xml_attribute(&xml, "assumed", "%s", assumed_of(type));
        fprintf(xml.out, "\n     ");
        copy(&xml, &like, "gpu");
        import_xml_attribute(&xml, "gpus", "%" PRIu32, type->n_gpus);
        if (type->has_scaleup) {
            copy(&xml, &like, "scaleup");
            copy(&xml, &like, "scaleup_link");
        }
        write_nics(&xml, type, &like, nic);
        fprintf(xml.out, "\n     ");
        copy(&xml, &like, "max_power");
        copy(&xml, &like, "idle_power");
        fprintf(xml.out, "/>\n");
        done = import_xml_close(job, &xml);
    }
    import_entry_close(&like);
    return done;
}
