// A collective over message sizes, as nccl-tests prints it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collectiveprint.h"

#include <inttypes.h>

#include "ids.h"
#include "json.h"
#include "units.h"

static double algbw_Bps(const struct sand_collective_view *v, size_t i)
{
    return v->terms[i].time_s > 0 ? v->bytes[i] / v->terms[i].time_s : 0;
}

static double busbw_Bps(const struct sand_collective_view *v, size_t i)
{
    return algbw_Bps(v, i) * sand_collective_bus_factor(v->kind, v->comm->ranks);
}

static const char *algorithm(const struct sand_collective_view *v, size_t i)
{
    return v->terms[i].kernel ? sand_algorithm_name(v->terms[i].kernel->algorithm) : "none";
}

static const char *protocol(const struct sand_collective_view *v, size_t i)
{
    return v->terms[i].kernel ? sand_protocol_name(v->terms[i].kernel->protocol) : "none";
}

static int reduces(enum sand_collective_kind kind)
{
    return kind == SAND_ALL_REDUCE || kind == SAND_REDUCE_SCATTER || kind == SAND_REDUCE;
}

static void print_where(const struct sand_collective_view *v, FILE *out)
{
    const struct sand_comm *c = v->comm;
    char port[48], nic[48];
    sand_quantity_format(c->scaleup->rate_Bps, SAND_DIM_BANDWIDTH, 3, port, sizeof port);
    sand_quantity_format(c->nic->rate_Bps, SAND_DIM_BANDWIDTH, 3, nic, sizeof nic);
    fprintf(out,
            "# %s over %" PRIu32 " GPUs of %s: %" PRIu32 " domain%s of up to %" PRIu32 " (%s, %s)",
            sand_collective_name(v->kind), c->ranks, v->cluster, c->domains,
            c->domains > 1 ? "s" : "", c->domain_ranks, c->scaleup->id, port);
    if (c->domains > 1)
        fprintf(out, ", %" PRIu32 " ports each (%s, %s)", c->ports, c->nic->id, nic);
    fprintf(out, "\n# constants %s (%s); GB/s are 1e9 bytes per second\n", v->constants->id,
            v->constants->from.date);
}

void sand_collective_print_text(const struct sand_collective_view *v, FILE *out)
{
    const char *redop = reduces(v->kind) ? "sum" : "none";
    print_where(v, out);
    fprintf(out, "#%13s %13s %9s %7s %7s %10s %8s %8s  %-13s %s\n", "size", "count", "type",
            "redop", "root", "time", "algbw", "busbw", "algorithm", "protocol");
    fprintf(out, "#%13s %13s %9s %7s %7s %10s %8s %8s\n", "(B)", "(elements)", "", "", "", "(us)",
            "(GB/s)", "(GB/s)");
    for (size_t i = 0; i < v->n; i++)
        fprintf(out, "%14.0f %13.0f %9s %7s %7d %10.2f %8.2f %8.2f  %-13s %s\n", v->bytes[i],
                v->bytes[i] / 4, "float", redop, -1, 1e6 * v->terms[i].time_s,
                1e-9 * algbw_Bps(v, i), 1e-9 * busbw_Bps(v, i), algorithm(v, i), protocol(v, i));
}

void sand_collective_print_csv(const struct sand_collective_view *v, FILE *out)
{
    fputs("collective,gpus,domains,bytes,time_s,algbw_Bps,busbw_Bps,algorithm,protocol,latency_s,"
          "wire_s,fill_s,scaleup_B,scaleup_Bps,network_B,network_Bps\n",
          out);
    for (size_t i = 0; i < v->n; i++) {
        const struct sand_coll_terms *t = &v->terms[i];
        fprintf(out,
                "%s,%" PRIu32 ",%" PRIu32 ",%.17g,%.9g,%.9g,%.9g,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g,"
                "%.9g,%.9g\n",
                sand_collective_name(v->kind), v->comm->ranks, v->comm->domains, v->bytes[i],
                t->time_s, algbw_Bps(v, i), busbw_Bps(v, i), algorithm(v, i), protocol(v, i),
                t->latency_s, t->wire_s, t->fill_s, t->scaleup_B, t->scaleup_Bps, t->network_B,
                t->network_Bps);
    }
}

static void json_field(FILE *out, const char *name, double value)
{
    fprintf(out, ", \"%s\": ", name);
    sand_json_number(out, value);
}

void sand_collective_print_json(const struct sand_collective_view *v, FILE *out)
{
    fputs("{\n  \"cluster\": ", out);
    sand_json_string(out, v->cluster);
    fprintf(out,
            ",\n  \"collective\": \"%s\",\n  \"gpus\": %" PRIu32 ",\n  \"domains\": %" PRIu32
            ",\n  \"sizes\": [",
            sand_collective_name(v->kind), v->comm->ranks, v->comm->domains);
    for (size_t i = 0; i < v->n; i++) {
        const struct sand_coll_terms *t = &v->terms[i];
        fprintf(out, "%s\n    {\"bytes\": %.17g", i > 0 ? "," : "", v->bytes[i]);
        json_field(out, "time_s", t->time_s);
        json_field(out, "algbw_Bps", algbw_Bps(v, i));
        json_field(out, "busbw_Bps", busbw_Bps(v, i));
        fprintf(out, ", \"algorithm\": \"%s\", \"protocol\": \"%s\"", algorithm(v, i),
                protocol(v, i));
        json_field(out, "latency_s", t->latency_s);
        json_field(out, "wire_s", t->wire_s);
        json_field(out, "fill_s", t->fill_s);
        fputc('}', out);
    }
    fputs("\n  ]\n}\n", out);
}

// ---- explanation --------------------------------------------------------------------------------

static void explain_tier(FILE *out, const char *name, double bytes, double Bps, const char *where)
{
    char rate[48];
    if (!(bytes > 0))
        return;
    sand_quantity_format(Bps, SAND_DIM_BANDWIDTH, 4, rate, sizeof rate);
    fprintf(out, "  %-9s %.0f B / %s = %.2f us, %s\n", name, bytes, rate, 1e6 * bytes / Bps, where);
}

static void explain_scaleup(const struct sand_collective_view *v, const struct sand_coll_terms *t,
                            FILE *out)
{
    const struct sand_comm *c = v->comm;
    char where[160] = "through the port of a GPU";
    if (c->torus_dims > 0)
        snprintf(where, sizeof where,
                 "of a chip's links those in %" PRIu32 " dimension%s, %.3g of its rate (%s)",
                 c->torus_dims, c->torus_dims > 1 ? "s" : "", c->scaleup_share, c->scaleup->id);
    else if (c->scaleup_most_Bps > 0)
        snprintf(where, sizeof where, "through the port of a GPU, or between processors");
    explain_tier(out, "scale-up", t->scaleup_B, t->scaleup_Bps, where);
}

static void explain_network(const struct sand_collective_view *v, const struct sand_coll_terms *t,
                            FILE *out)
{
    char link[64] = "the tree's channels", where[160];
    if (t->network_link != SAND_NONE)
        sand_fabric_link_name(v->fabric, t->network_link, link, sizeof link);
    snprintf(where, sizeof where, "out of a domain; tightest: %s", link);
    explain_tier(out, "network", t->network_B, t->network_Bps, where);
}

static void explain_size(const struct sand_collective_view *v, size_t i, FILE *out)
{
    const struct sand_coll_terms *t = &v->terms[i];
    const double s = v->constants->tier_sharpness;
    fprintf(out, "\n%.0f B: %.2f us, %s, %s\n", v->bytes[i], 1e6 * t->time_s, algorithm(v, i),
            protocol(v, i));
    fprintf(out, "  %-9s base %.2f + %.0f x %.2f (scale-up hops) + %.0f x %.2f (network hops)",
            "latency", 1e6 * t->base_s, t->scaleup_hops, 1e6 * t->scaleup_hop_s, t->network_hops,
            1e6 * t->network_hop_s);
    if (t->messages_s > 0)
        fprintf(out, " + %.2f (messages one after another)", 1e6 * t->messages_s);
    fprintf(out, " = %.2f us\n", 1e6 * t->latency_s);
    explain_scaleup(v, t, out);
    explain_network(v, t, out);
    if (t->scaleup_B > 0 && t->network_B > 0)
        fprintf(out, "  %-9s (scale-up^%g + network^%g)^(1/%g) = %.2f us\n", "both", s, s, s,
                1e6 * t->wire_s);
    if (t->fill_B > 0)
        fprintf(out, "  %-9s %.3g x %.2f us / (1 + %.0f B / %.0f B) = %.2f us\n", "fill", t->depth,
                1e6 * t->wire_s, v->bytes[i], t->fill_B, 1e6 * t->fill_s);
}

void sand_collective_explain(const struct sand_collective_view *v, FILE *out)
{
    fprintf(out, "\ntime = latency + wire + fill\n"
                 "  volumes and latency: NVIDIA/nccl, src/graph/tuning.cc; rates: what the links "
                 "reach, as the catalogue says;\n  fill: the first chunks run down the pipeline "
                 "alone (docs/collectives.md)\n");
    for (size_t i = 0; i < v->n; i++)
        explain_size(v, i, out);
}
