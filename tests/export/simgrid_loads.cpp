// Loads an exported platform in SimGrid as it is shipped and prints the way and the time between
// hosts: "from to links least-bandwidth latency seconds-for-bytes", all flows of one call at once.
// usage: simgrid_loads PLATFORM.xml BYTES FROM TO [FROM TO...]
// SPDX-License-Identifier: GPL-2.0-or-later
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct pair {
    std::string from, to;
};

static void print_ways(const std::vector<pair> &pairs)
{
    for (const pair &p : pairs) {
        std::vector<sg4::Link *> links;
        double latency = 0, least = 0;
        sg4::Host::by_name(p.from)->route_to(sg4::Host::by_name(p.to), links, &latency);
        for (const sg4::Link *link : links)
            least = least > 0 ? std::min(least, link->get_bandwidth()) : link->get_bandwidth();
        std::printf("way %s %s %zu %.17g %.17g\n", p.from.c_str(), p.to.c_str(), links.size(),
                    least, latency);
    }
}

static void send_all(const std::vector<pair> &pairs, double bytes)
{
    std::vector<sg4::CommPtr> comms;
    for (const pair &p : pairs)
        comms.push_back(sg4::Comm::sendto_async(
            sg4::Host::by_name(p.from), sg4::Host::by_name(p.to), static_cast<uint64_t>(bytes)));
    for (const sg4::CommPtr &comm : comms)
        comm->wait();
    std::printf("time %.17g\n", sg4::Engine::get_clock());
}

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc < 5 || argc % 2 == 0)
        return 2;
    std::vector<pair> pairs;
    for (int i = 3; i < argc; i += 2)
        pairs.push_back({argv[i], argv[i + 1]});
    const double bytes = std::strtod(argv[2], nullptr);
    engine.load_platform(argv[1]);
    engine.seal_platform(); // routes are searched for when the platform is whole
    std::printf("hosts %zu\n", engine.get_host_count());
    print_ways(pairs);
    sg4::Actor::create("sender", engine.get_all_hosts().front(),
                       [pairs, bytes]() { send_all(pairs, bytes); });
    engine.run();
    return 0;
}
