// What an import must say of what it took for granted: names, defaults, power, node types.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "filegate.h"
#include "import.h"
#include "mem.h"

struct answer {
    enum sand_rc rc;
    struct sand_import_result result;
    struct sand_diag diag;
};

static struct answer import_text(enum sand_import_format format, const char *text,
                                 struct sand_import_options options)
{
    struct answer a = {0};
    options.data = SAND_SOURCE_DIR;
    if (options.file == NULL)
        options.file = "text";
    a.rc = sand_import(format, text, strlen(text), &options, &a.result, &a.diag);
    return a;
}

static struct answer import_file(enum sand_import_format format, const char *file,
                                 struct sand_import_options options)
{
    char path[4096], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/import/%s", SAND_TEST_DATA, file);
    cr_assert_eq(sand_file_read(path, 1 << 24, &text, &size, NULL), SAND_OK, "%s", path);
    options.file = file;
    struct answer a = import_text(format, text, options);
    sand_free(text);
    return a;
}

static void clear(struct answer *a)
{
    sand_free(a->result.xml);
    sand_diag_clear(&a->diag);
}

static size_t count_messages(const struct answer *a, const char *part)
{
    size_t n = 0;
    for (size_t i = 0; i < a->diag.n_messages; i++)
        n += strstr(a->diag.messages[i].text, part) != NULL ? 1 : 0;
    return n;
}

static void expect_in(const struct answer *a, const char *part)
{
    cr_expect(a->rc == SAND_OK && strstr(a->result.xml, part) != NULL, "lacks %s:\n%s", part,
              a->rc == SAND_OK ? a->result.xml : a->diag.messages[0].text);
}

static void expect_not_in(const struct answer *a, const char *part)
{
    cr_expect(a->rc == SAND_OK && strstr(a->result.xml, part) == NULL, "has %s:\n%s", part,
              a->rc == SAND_OK ? a->result.xml : a->diag.messages[0].text);
}

// 32 adapters of 4 nodes, all with the factory's name: 32 nodes, but never silently.
Test(import_words, factory_names_are_confessed)
{
    struct answer a = import_file(SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-factory.txt",
                                  (struct sand_import_options){0});
    expect_in(&a, "nodes=\"32\"");
    expect_in(&a, "Assumed: 32 of 32 adapters carry no name of a host");
    cr_expect_eq(count_messages(&a, "taken for a node of its own"), 1);
    clear(&a);
    a = import_file(SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover.txt",
                    (struct sand_import_options){0});
    expect_not_in(&a, "carry no name");
    clear(&a);
}

Test(import_words, nics_per_node_says_it)
{
    struct answer a = import_file(SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-factory.txt",
                                  (struct sand_import_options){.nics_per_node = 8});
    expect_in(&a, "nodes=\"4\"");
    expect_not_in(&a, "Differs:");
    clear(&a);
    a = import_file(SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-factory.txt",
                    (struct sand_import_options){.nics_per_node = 5});
    cr_expect(a.rc == SAND_ERR_INPUT && count_messages(&a, "32 adapter ports") == 1);
    clear(&a);
    a = import_file(SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover.txt",
                    (struct sand_import_options){.nics_per_node = 8});
    cr_expect(a.rc == SAND_ERR_INPUT && count_messages(&a, "carry the name of their node") == 1);
    clear(&a);
}

// A host whose name begins with MT is no Mellanox part number.
Test(import_words, hosts_called_mt)
{
    struct answer a = import_text(SAND_IMPORT_IBNETDISCOVER,
                                  "Switch\t64 \"S-1\" # \"leaf\"\n"
                                  "[1] \"H-1\"[1](1) # \"MT01 mlx5_0\" lid 5 4xNDR\n"
                                  "[2] \"H-2\"[1](2) # \"MT01 mlx5_1\" lid 5 4xNDR\n"
                                  "Ca\t1 \"H-1\" # \"MT01 mlx5_0\"\n"
                                  "[1](1) \"S-1\"[1] # lid 5 lmc 0 \"leaf\" lid 1 4xNDR\n"
                                  "Ca\t1 \"H-2\" # \"MT01 mlx5_1\"\n"
                                  "[1](2) \"S-1\"[2] # lid 5 lmc 0 \"leaf\" lid 1 4xNDR\n",
                                  (struct sand_import_options){0});
    expect_in(&a, "nodes=\"1\"");
    expect_not_in(&a, "carry no name");
    clear(&a);
}

// NodeName=DEFAULT is no node; its GRES holds below it until the next DEFAULT changes it.
Test(import_words, slurm_defaults)
{
    struct answer a = import_file(SAND_IMPORT_SLURM_NODES, "slurm-nodes-default.txt",
                                  (struct sand_import_options){0});
    expect_in(&a, "nodes=\"6\"");
    expect_in(&a, "sandtable:node/dgx-h100");
    expect_not_in(&a, "DEFAULT");
    cr_expect_eq(count_messages(&a, "2 nodes, the first \"old0\", have"), 1);
    cr_expect_eq(count_messages(&a, "UNKNOWN"), 1); // not six times
    cr_expect_eq(count_messages(&a, "6 nodes, the first \"gpu0\""), 1);
    clear(&a);
}

// Four GPUs of a DGX H100 (10.2 kW, idle 2 kW, eight GPUs): half of it.
Test(import_words, power_in_proportion)
{
    struct answer a = import_file(SAND_IMPORT_NVIDIA_SMI_TOPO, "smi-topo-4gpus.txt",
                                  (struct sand_import_options){0});
    expect_in(&a, "max_power=\"5.1kW\"");
    expect_in(&a, "idle_power=\"1kW\"");
    expect_in(&a, "Assumed: max_power and idle_power are 4/8 of those of dgx-h100");
    expect_in(&a, "assumed=\"gpu scaleup scaleup_link nic host_link max_power idle_power\"");
    clear(&a);
}

// No NVLink: scaleup_link is neither written nor listed; storage NICs of the reference are named.
Test(import_words, what_is_assumed_is_there)
{
    struct answer a = import_file(SAND_IMPORT_NCCL_TOPO, "nccl-topo-2gpus.xml",
                                  (struct sand_import_options){.node = "dgx-h100"});
    expect_not_in(&a, "scaleup_link");
    expect_in(&a, "Assumed: storage_nics=2 and storage_nic_rate are those of dgx-h100, whole");
    expect_in(&a, "max_power=\"2.55kW\"");
    clear(&a);
}

// The name that the importer writes itself is taken; others get the nearest, or the list.
Test(import_words, names_of_node_types)
{
    static const char text[] = "NodeName=n[0-3] Gres=gpu:8\n";
    struct answer a = import_text(SAND_IMPORT_SLURM_NODES, text,
                                  (struct sand_import_options){.node = "sandtable:node/dgx-h200"});
    expect_in(&a, "node=\"sandtable:node/dgx-h200\"");
    clear(&a);
    a = import_text(SAND_IMPORT_SLURM_NODES, text,
                    (struct sand_import_options){.node = "sandtable:node/dgx-h20"});
    cr_expect(a.rc == SAND_ERR_INPUT && count_messages(&a, "did you mean \"dgx-h") == 1);
    clear(&a);
    a = import_text(SAND_IMPORT_SLURM_NODES, text, (struct sand_import_options){.node = "../x"});
    cr_expect(a.rc == SAND_ERR_INPUT && count_messages(&a, "there are a100-4x100, ") == 1);
    clear(&a);
}

// Two dashes may not stand in a comment: shown as what they are, with a word about it.
Test(import_words, dashes_in_comments)
{
    struct answer a = import_text(SAND_IMPORT_SLURM_NODES, "NodeName=n[0-3] Gres=gpu:8\n",
                                  (struct sand_import_options){.file = "a--b---.txt"});
    expect_in(&a, "from a-&#45;b-&#45;-.txt\n");
    expect_in(&a, "Written &#45; above");
    clear(&a);
    a = import_text(SAND_IMPORT_SLURM_NODES, "NodeName=n[0-3] Gres=gpu:8\n",
                    (struct sand_import_options){.file = "a-b"});
    expect_not_in(&a, "&#45;");
    clear(&a);
}

// Only GPUs of a Gres say what a node is; tables, records and slurm.conf say the same.
Test(import_words, gpus_among_other_resources)
{
    static const char *const texts[] = {
        "NODELIST STATE GRES\na[1-2] idle gpu:h100:8(S:0-1),nvme:2\na3 mix mps:800,gpu:h100:8\n",
        "HOSTNAMES|GRES|STATE\na1|gpu:h100:8|idle\na2|gpu:h100:8|idle\na3|gpu:h100:8|idle~\n",
        "NodeName=a1 OS=Linux #1 SMP Gres=gpu:h100:8,shard:32 State=IDLE\nNodeName=a2 "
        "Gres=gpu:h100:8\nNodeName=a3 Gres=gpu:h100:4(S:0),gpu:h100:4(S:1) State=DOWN+DRAIN\n",
        "ClusterName=c\nNodeName=a[1-3] \\\n  Gres=gpu:h100:8 State=UNKNOWN # eight\n"
        "PartitionName=p Nodes=a[1-3] State=DOWN\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct answer a =
            import_text(SAND_IMPORT_SLURM_NODES, texts[i], (struct sand_import_options){0});
        expect_in(&a, i == 2 ? "nodes=\"2\"" : "nodes=\"3\"");
        expect_in(&a, "sandtable:node/dgx-h100");
        cr_expect_eq(count_messages(&a, "is of no node"), i == 3);
        cr_expect_eq(count_messages(&a, "gres "), i == 0 ? 2 : i == 2 ? 1 : 0);
        clear(&a);
    }
}

// `sinfo -N -l` shows no GPUs, but reasons of several words: --node says what the nodes are.
Test(import_words, long_node_table)
{
    static const char text[] = "NODELIST NODES PARTITION STATE AVAIL_FE REASON\n"
                               "a1 1 p* idle (null) none\na1 1 q idle (null) none\n"
                               "a2 1 p* drained (null) Kill task failed\n";
    struct answer a = import_text(SAND_IMPORT_SLURM_NODES, text, (struct sand_import_options){0});
    cr_expect_eq(a.rc, SAND_ERR_INPUT);
    cr_expect_eq(count_messages(&a, "--node=ID"), 1);
    clear(&a);
    a = import_text(SAND_IMPORT_SLURM_NODES, text,
                    (struct sand_import_options){.node = "dgx-b200"});
    expect_in(&a, "nodes=\"2\" node=\"sandtable:node/dgx-b200\"");
    expect_in(&a, "Assumed: every node has the GPUs of dgx-b200");
    cr_expect_eq(count_messages(&a, "node \"a2\" is drained"), 1);
    clear(&a);
}

// topology.yaml gives what the same topology.conf gives; all topologies but one are reported.
Test(import_words, topology_yaml)
{
    struct answer yaml =
        import_file(SAND_IMPORT_SLURM_TOPOLOGY, "topology.yaml", (struct sand_import_options){0});
    struct answer conf =
        import_text(SAND_IMPORT_SLURM_TOPOLOGY,
                    "SwitchName=root Switches=leaf[0-2]\nSwitchName=leaf0 Nodes=n[00-03]\n"
                    "SwitchName=leaf1 Nodes=n[04-07]\nSwitchName=leaf2 Nodes=n08,n09\n",
                    (struct sand_import_options){.file = "topology.yaml"});
    cr_assert(yaml.rc == SAND_OK && conf.rc == SAND_OK);
    cr_expect_str_eq(yaml.result.xml, conf.result.xml);
    cr_expect_eq(count_messages(&yaml, "topology \"flat\" is passed over: it is neither"), 1);
    cr_expect_eq(count_messages(&yaml, "topology \"nvl\" is passed over: another one"), 1);
    cr_expect_eq(count_messages(&yaml, "\"colour\" is not understood"), 1);
    cr_expect_eq(yaml.result.n_unknown, 3);
    clear(&yaml);
    clear(&conf);
}

Test(import_words, topology_yaml_refusals)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"- topology: a\n  flat: true\n", "no topology with tree: or block:"},
        {"- topology: a\n  tree:\n    switches: []\n", "lists no switch"},
        {"- topology: a\n  tree: 3\n", "has no list of switches"},
        {"- topology: a\n  tree:\n    switches: [{switch: s, nodes: [x\n", "is no YAML"},
        {"- topology: a\n  block:\n    blocks:\n      - nodes: n1\n", "has no block"},
        {"- topology: a\n  tree:\n    switches:\n      - switch: s\n",
         "neither Switches nor Nodes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct answer a =
            import_text(SAND_IMPORT_SLURM_TOPOLOGY, rows[i].text, (struct sand_import_options){0});
        cr_expect_eq(a.rc, SAND_ERR_INPUT, "%s", rows[i].text);
        cr_expect_eq(count_messages(&a, rows[i].why), 1, "%s: %s", rows[i].text,
                     a.diag.n_messages ? a.diag.messages[0].text : "");
        clear(&a);
    }
}

// A cloud's file for its guests shows classes of devices alone; --node says what they are.
Test(import_words, devices_by_class)
{
    struct answer a =
        import_file(SAND_IMPORT_NCCL_TOPO, "nccl-topo-guest.xml", (struct sand_import_options){0});
    cr_expect_eq(a.rc, SAND_ERR_INPUT);
    cr_expect_eq(count_messages(&a, "--node=ID"), 1);
    clear(&a);
    a = import_file(SAND_IMPORT_NCCL_TOPO, "nccl-topo-guest.xml",
                    (struct sand_import_options){.node = "dgx-a100"});
    expect_in(&a, "gpus=\"8\" scaleup=\"nvswitch\"");
    expect_in(&a, "nics=\"8\" nic=\"sandtable:link/hdr200-ib\"");
    expect_in(&a, "host_link=\"sandtable:link/pcie4-x16\"");
    expect_in(&a, "Assumed: 8 PCI devices of class 0x03");
    clear(&a);
}

// Two hosts of a scale-up domain, whose bus ids are the same: one node, and how many share the
// switch.
Test(import_words, scaleup_domain_of_hosts)
{
    struct answer a =
        import_file(SAND_IMPORT_NCCL_TOPO, "nccl-topo-domain.xml", (struct sand_import_options){0});
    expect_in(&a, "gpu=\"sandtable:gpu/gb200-186g\" gpus=\"4\"");
    expect_in(&a, "scaleup_nodes=\"2\" nics=\"4\"");
    expect_in(&a, "max_power=\"6.667kW\"");
    clear(&a);
}

// RCCL's compute capability 90 is no H100: the PCI device and the instruction set come first.
Test(import_words, rccl_and_pci_devices)
{
    struct answer a =
        import_file(SAND_IMPORT_NCCL_TOPO, "rccl-topo.xml", (struct sand_import_options){0});
    expect_in(&a, "gpu=\"sandtable:gpu/mi250x-128g\" gpus=\"4\"");
    expect_in(&a, "nics=\"4\"");
    expect_in(&a, "Assumed: 4 GPUs: two dies of an MI250X");
    clear(&a);
    a = import_text(SAND_IMPORT_NCCL_TOPO,
                    "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"a\" vendor=\"0x10de\" "
                    "device=\"0x2335\"><gpu dev=\"0\" sm=\"90\"><nvlink target=\"s\" "
                    "count=\"18\"/></gpu></pci></cpu></system>",
                    (struct sand_import_options){0});
    expect_in(&a, "gpu=\"sandtable:gpu/h200-sxm-141g\" gpus=\"1\"");
    expect_in(&a, "Assumed: NICs as in dgx-h200: the input shows none");
    clear(&a);
}

// Matrices as collectors of logs leave them, and without NICs.
Test(import_words, matrices_in_the_wild)
{
    struct answer a = import_text(
        SAND_IMPORT_NVIDIA_SMI_TOPO,
        "GPU Topology:\n GPU0 GPU1 NIC0NIC1 CPU Affinity\nGPU0 X NV18 PIX SYS 0-1\nGPU1 NV18 X SYS "
        "PIX 2-3\nNIC0 PIX SYS X NODE\nNIC1 SYS PIX NODE X\n",
        (struct sand_import_options){0});
    expect_in(&a, "gpus=\"2\"");
    expect_in(&a, "nics=\"2\"");
    clear(&a);
    a = import_text(SAND_IMPORT_NVIDIA_SMI_TOPO, " GPU0 GPU1\nGPU0 X NV12\nGPU1 NV12 X\n",
                    (struct sand_import_options){0});
    expect_in(&a, "Assumed: NICs as in dgx-a100: the input shows none");
    expect_in(&a, "nics=\"8\"");
    clear(&a);
}

// Servers beside the nodes, routers and reduction engines are no nodes, and are told by name.
Test(import_words, hosts_that_are_no_nodes)
{
    struct answer a = import_file(SAND_IMPORT_IBNETDISCOVER, "ibnetdiscover-mixed.txt",
                                  (struct sand_import_options){.node = "gb200-nvl72"});
    expect_in(&a, "nodes=\"4\"");
    expect_in(&a, "fat_tree tiers=\"2\" endpoints_per_leaf=\"8\" leaf_oversubscription=\"1\"");
    expect_in(&a, "Differs: 2 hosts have fewer than half of the 4 NIC ports of most");
    cr_expect_eq(count_messages(&a, ": lustre1, ufm1"), 1);
    cr_expect_eq(count_messages(&a, "router \"router1\" is left out"), 1);
    cr_expect_eq(a.result.n_deviations, 1);
    clear(&a);
}

// A drawing of yEd and a graph of igraph: names are what the labels say, and say what is a host.
Test(import_words, graphs_of_other_tools)
{
    struct answer a =
        import_file(SAND_IMPORT_GRAPHML, "yed.graphml", (struct sand_import_options){0});
    expect_in(&a, "nodes=\"4\"");
    expect_in(&a, "<switch id=\"leaf0\" tier=\"leaf\"/>");
    expect_in(&a, "<switch id=\"spine0\" tier=\"spine\"/>");
    expect_in(&a, "Assumed: 4 of 7 nodes of the graph are nodes of the cluster");
    cr_expect_eq(a.result.n_unknown, 0);
    clear(&a);
    a = import_text(
        SAND_IMPORT_GRAPHML,
        "<graphml><key id=\"v_name\" for=\"node\" attr.name=\"name\"/><key id=\"k\" for=\"node\" "
        "attr.name=\"kind\"/><key id=\"c\" for=\"edge\" attr.name=\"capacity\"/><graph>"
        "<node id=\"n0\"><data key=\"v_name\">tor-7</data><data key=\"k\">switch</data></node>"
        "<node id=\"n1\"><data key=\"k\">host</data></node>"
        "<node id=\"n2\"><data key=\"k\">appliance</data></node>"
        "<edge source=\"n0\" target=\"n1\"><data key=\"c\">400</data></edge></graph></graphml>",
        (struct sand_import_options){0});
    cr_expect_eq(a.rc, SAND_ERR_INPUT);
    cr_expect_eq(count_messages(&a, "kind \"appliance\" is not understood"), 1);
    cr_expect_eq(count_messages(&a, "capacity is \"400\", less than 1 MB/s"), 1);
    clear(&a);
}
