// The border to SimGrid: the one source that sees its C++ interface.
// One actor, two pseudo-hosts, and a zone whose only route is the link list of the flow that
// starts. SPDX-License-Identifier: GPL-2.0-or-later
//
// How a flow lives (SimGrid 3.32):
// - A route is looked up once, when a transfer starts; so one pair of hosts serves all flows and
// the
//   zone answers with the list set just before.
// - Payload sizes are whole bytes in the interface. The exact size is put into the new action,
// which
//   is the last one of the model's started set.
// - A flow's rate is bounded for life by the smallest bandwidth on its route at its start. With
// zero
//   latency the links bound it anyway, so the bound is lifted and link_set needs no new flow.
// - Waiting on n transfers costs O(n) a wait. The pump waits on a semaphore instead, which the
//   signal "a communication changed its state" releases at the first end of an instant, and a timer
//   at the time-out.
#include "bridge.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

namespace
{
namespace s4u = simgrid::s4u;
namespace kernel = simgrid::kernel;
using kernel::resource::Action;

// Every key that bears on results, stated so that no default of a SimGrid version leaks in. CM02
// with factors 1 and no cross traffic is plain max-min sharing: 1 GB over 1 GB/s takes 1 s, where
// the default model of wide-area TCP says 1.08 s.
const char *const engine_options[] = {
    "sandtable",
    "--log=root.thres:critical", // first: later keys are reported at level info
    "--cfg=network/model:CM02",
    "--cfg=network/solver:maxmin",
    "--cfg=network/optim:Lazy",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/weight-S:0",
    "--cfg=network/TCP-gamma:1e300", // bounds rate by gamma / latency; our latencies are 0
    "--cfg=cpu/model:Cas01",
    "--cfg=host/model:default",
    "--cfg=debug/verbose-exit:no",
    "--cfg=contexts/stack-size:8192", // KiB: the pump is the caller's whole loop
#if SIMGRID_VERSION >= 33400
    "--cfg=precision/timing:1e-9",
    "--cfg=precision/work-amount:1e-9",
#else
    "--cfg=surf/precision:1e-9",   // seconds: ends closer than this are one instant
    "--cfg=maxmin/precision:1e-9", // of a link's capacity: what the solver calls used up
#endif
#if defined(__SANITIZE_ADDRESS__)
    "--cfg=contexts/factory:thread", // the others switch stacks behind the sanitizer's back
#endif
};

// A zone with one route: whatever `route` holds when a transfer starts.
class OneRouteZone : public kernel::routing::NetZoneImpl
{
  public:
    OneRouteZone() : NetZoneImpl("fabric") {}
    std::vector<kernel::resource::StandardLinkImpl *> route;

  private:
    void get_local_route(const kernel::routing::NetPoint *, const kernel::routing::NetPoint *,
                         kernel::routing::Route *into, double *) override
    {
        into->link_list_ = route;
    }
};

enum class Stage { unused, running, finished, failed };

struct Flow {
    Stage stage = Stage::unused;
    s4u::CommPtr transfer;
    Action *action = nullptr; // valid while running
    double remaining_B = 0;   // once it has ended
};

// Engine() installs handlers of its own for these; a caller's Ctrl-C and a crash must stay what
// they are without SimGrid.
class KeptSignals
{
  public:
    KeptSignals()
    {
        for (auto &entry : kept)
            sigaction(entry.number, nullptr, &entry.action);
    }
    void restore() const
    {
        for (const auto &entry : kept)
            sigaction(entry.number, &entry.action, nullptr);
    }

  private:
    struct Entry {
        int number;
        struct sigaction action;
    };
    Entry kept[3] = {{SIGINT, {}}, {SIGSEGV, {}}, {SIGABRT, {}}};
};

// The solver walks a component of links and flows by recursion, some 90 bytes of stack a link: at
// 8 MiB it crashes beyond 87,000 links (measured). The main stack grows on demand up to the soft
// limit, and Linux leaves at least 128 MiB of room below it.
class DeepStack
{
  public:
    DeepStack()
    {
        if (getrlimit(RLIMIT_STACK, &kept) != 0)
            return;
        rlimit wanted = kept;
        wanted.rlim_cur = std::min<rlim_t>(kept.rlim_max, 112UL << 20);
        raised = kept.rlim_cur < wanted.rlim_cur && setrlimit(RLIMIT_STACK, &wanted) == 0;
    }
    ~DeepStack()
    {
        if (raised)
            setrlimit(RLIMIT_STACK, &kept);
    }
    DeepStack(const DeepStack &) = delete;
    DeepStack &operator=(const DeepStack &) = delete;

  private:
    rlimit kept = {};
    bool raised = false;
};
} // namespace

struct sand_bridge {
    OneRouteZone *zone = nullptr; // owned by the engine
    s4u::Host *source = nullptr, *sink = nullptr;
    kernel::resource::Model *model = nullptr;
    s4u::SemaphorePtr bell;
    bool listening = false; // the pump waits for the bell
    std::vector<s4u::Link *> links;
    std::vector<kernel::resource::StandardLinkImpl *> impls; // of the links: asking takes a cast
    std::vector<char> link_on;
    std::vector<Flow> flows;
    std::vector<uint32_t> unused; // free flow numbers, a stack
    std::vector<uint32_t> ended;  // ended and not reported yet
    std::unordered_map<const Action *, uint32_t> flow_of;
    std::string trouble; // what went wrong inside the pump's calls
    bool broken = false; // an exception came out of SimGrid: nothing more is asked of it

    enum sand_rc refuse(const std::string &what);
    void ring();
    void note_end(uint32_t flow, Stage stage);
    void on_state_change();
    void build(const sand_bridge_platform &platform);
    enum sand_rc start(const uint32_t *route, uint32_t n, double bytes, uint32_t *flow);
    void launch(uint32_t number, double bytes);
    void listen(double seconds);
    enum sand_rc wait(double seconds);
    void report(sand_flow_end *ends, uint32_t *n);
    void check() const;
    bool in_use(uint32_t flow) const;
    double remaining(uint32_t flow);
    void release(uint32_t flow);
    double cancel(uint32_t flow);
    void power(uint32_t link, bool on);
    template <typename F> enum sand_rc guarded(F body);
};

enum sand_rc sand_bridge::refuse(const std::string &what)
{
    if (trouble.empty())
        trouble = what;
    return SAND_ERR_INTERNAL;
}

// Runs `body`, which returns a result code; whatever it throws ends here.
template <typename F> enum sand_rc sand_bridge::guarded(F body)
{
    if (broken)
        return SAND_ERR_INTERNAL;
    try {
        return body();
    } catch (const std::bad_alloc &) {
        broken = true;
        return SAND_ERR_NOMEM;
    } catch (const std::exception &e) {
        broken = true;
        return refuse(std::string("SimGrid: ") + e.what());
    } catch (...) {
        broken = true;
        return refuse("SimGrid ended the simulation's actor");
    }
}

void sand_bridge::ring()
{
    if (!listening)
        return;
    listening = false;
    bell->release();
}

void sand_bridge::note_end(uint32_t flow, Stage stage)
{
    flows[flow].stage = stage;
    flows[flow].action = nullptr;
    ended.push_back(flow);
    ring();
}

// The action that changed its state is the last of the set it went to.
void sand_bridge::on_state_change()
{
    const std::pair<Action::StateSet *, Stage> outcomes[] = {
        {model->get_finished_action_set(), Stage::finished},
        {model->get_failed_action_set(), Stage::failed}};
    for (const auto &[set, stage] : outcomes) {
        if (set->empty())
            continue;
        const auto found = flow_of.find(&set->back());
        if (found == flow_of.end())
            continue;
        const uint32_t flow = found->second;
        flow_of.erase(found);
        flows[flow].remaining_B =
            stage == Stage::failed ? std::max(0.0, set->back().get_remains_no_update()) : 0.0;
        note_end(flow, stage);
    }
}

void sand_bridge::build(const sand_bridge_platform &platform)
{
    zone = new OneRouteZone;
    s4u::NetZone *face = zone->get_iface();
    source = face->create_host("source", 1e9)->seal();
    sink = face->create_host("sink", 1e9)->seal();
    links.reserve(platform.n_links);
    for (uint32_t i = 0; i < platform.n_links; i++) {
        s4u::Link *link = face->create_link("link" + std::to_string(i), platform.link_Bps[i]);
        links.push_back(link->set_latency(0.0)->seal());
        impls.push_back(link->get_impl());
    }
    face->seal();
    link_on.assign(platform.n_links, 1);
    model = dynamic_cast<kernel::resource::Model *>(face->get_network_model());
    if (model == nullptr)
        throw std::logic_error("this SimGrid's network model is not a kernel model");
    bell = s4u::Semaphore::create(0);
    flows.resize(platform.max_flows);
    for (uint32_t i = platform.max_flows; i-- > 0;)
        unused.push_back(i);
    s4u::Link::on_communication_state_change_cb(
        [this](kernel::resource::NetworkAction &, Action::State) { on_state_change(); });
}

// Starts the transfer of flow `number` over the zone's route.
void sand_bridge::launch(uint32_t number, double bytes)
{
    Flow &flow = flows[number];
    flow.transfer = s4u::Comm::sendto_init(source, sink);
    flow.transfer->set_payload_size(1);
    flow.transfer->detach();
    Action &action = model->get_started_action_set()->back();
    action.set_cost(bytes);
    action.set_remains(bytes);
    action.set_bound(-1.0);
    flow.action = &action;
    flow.stage = Stage::running;
    flow_of.emplace(&action, number);
}

enum sand_rc sand_bridge::start(const uint32_t *route, uint32_t n, double bytes, uint32_t *flow)
{
    if (n == 0 || !std::isfinite(bytes) || bytes <= 0)
        return refuse("a flow needs a link and a finite number of bytes above 0");
    if (unused.empty())
        return refuse("all " + std::to_string(flows.size()) + " flows of the platform are alive");
    bool on = true;
    zone->route.clear();
    for (uint32_t i = 0; i < n; i++) {
        if (route[i] >= links.size())
            return refuse("link " + std::to_string(route[i]) + " of a flow does not exist");
        on = on && link_on[route[i]] != 0;
        zone->route.push_back(impls[route[i]]);
    }
    const uint32_t number = unused.back();
    unused.pop_back();
    *flow = number;
    if (on) {
        launch(number, bytes);
    } else {
        flows[number].remaining_B = bytes;
        note_end(number, Stage::failed);
    }
    return SAND_OK;
}

// Blocks the pump until the bell rings or `seconds` are over.
void sand_bridge::listen(double seconds)
{
    bool over = false;
    kernel::timer::Timer *timer = nullptr;
    listening = true;
    if (std::isfinite(seconds))
        timer = kernel::timer::Timer::set(s4u::Engine::get_clock() + seconds, [this, &over] {
            over = true;
            ring();
        });
    bell->acquire();
    if (timer != nullptr && !over)
        timer->remove();
}

enum sand_rc sand_bridge::wait(double seconds)
{
    if (std::isnan(seconds) || seconds < 0)
        return refuse("a wait needs a time of 0 or more");
    if (!ended.empty())
        return SAND_OK;
    if (flow_of.empty() && seconds == 0)
        return SAND_OK;
    if (flow_of.empty() && std::isinf(seconds))
        return refuse("a wait without end needs a flow alive");
    listen(seconds);
    check();
    return SAND_OK;
}

void sand_bridge::report(sand_flow_end *ends, uint32_t *n)
{
    std::sort(ended.begin(), ended.end());
    *n = 0;
    for (const uint32_t flow : ended) {
        ends[(*n)++] = {flow, flows[flow].stage == Stage::failed ? 1 : 0};
        release(flow);
    }
    ended.clear();
}

// Every flow is unused, running or ended, and in exactly the list of its stage.
void sand_bridge::check() const
{
#ifdef SAND_HOSTILE
    size_t count[3] = {0, 0, 0};
    for (const Flow &flow : flows)
        count[flow.stage == Stage::unused ? 0 : flow.stage == Stage::running ? 1 : 2]++;
    if (count[0] != unused.size() || count[1] != flow_of.size() || count[2] != ended.size())
        throw std::logic_error("the bridge's lists of flows disagree");
#endif
}

bool sand_bridge::in_use(uint32_t flow) const
{
    return flow < flows.size() && flows[flow].stage != Stage::unused;
}

// Bytes not yet delivered. Asking a flow in its last moment may end it.
double sand_bridge::remaining(uint32_t flow)
{
    if (!in_use(flow))
        return 0;
    if (flows[flow].stage == Stage::running)
        return std::max(0.0, flows[flow].action->get_remains());
    return flows[flow].remaining_B;
}

void sand_bridge::release(uint32_t flow)
{
    flows[flow] = Flow{};
    unused.push_back(flow);
}

double sand_bridge::cancel(uint32_t flow)
{
    const double left = remaining(flow);
    if (flows[flow].stage == Stage::running) {
        flow_of.erase(flows[flow].action); // so that the state change is nobody's
        flows[flow].transfer->cancel();
    } else {
        ended.erase(std::find(ended.begin(), ended.end(), flow));
    }
    release(flow);
    return left;
}

void sand_bridge::power(uint32_t link, bool on)
{
    link_on[link] = on ? 1 : 0;
    if (on) {
        links[link]->turn_on();
        return;
    }
    for (uint32_t flow = 0; flow < flows.size(); flow++)
        (void)remaining(flow); // brings it up to date, for the flows that fail now
    links[link]->turn_off();
}

namespace
{
// One engine per process, ever: SimGrid aborts on the second. True for the first caller.
bool take_engine()
{
    static std::atomic_flag taken = ATOMIC_FLAG_INIT;
    return !taken.test_and_set();
}

enum sand_rc check_platform(const sand_bridge_platform *platform, sand_diag *diag)
{
    for (uint32_t i = 0; i < platform->n_links; i++)
        if (!std::isfinite(platform->link_Bps[i]) || platform->link_Bps[i] <= 0)
            return sand_fail(diag, SAND_ERR_INTERNAL,
                             "bridge: link %u has %g B/s; a capacity must be finite and above 0",
                             (unsigned)i, platform->link_Bps[i]);
    return SAND_OK;
}

enum sand_rc run_engine(sand_bridge &bridge, const sand_bridge_platform &platform,
                        sand_pump_fn *pump, void *argument)
{
    const KeptSignals signals;
    const DeepStack stack;
    std::vector<std::string> options(std::begin(engine_options), std::end(engine_options));
    std::vector<char *> argv;
    for (std::string &option : options)
        argv.push_back(option.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(options.size());
    s4u::Engine engine(&argc, argv.data());
    signals.restore();
    bridge.build(platform);
    enum sand_rc rc = SAND_ERR_INTERNAL;
    s4u::Actor::create("pump", bridge.source, [&] { rc = pump(&bridge, argument); });
    engine.run();
    for (uint32_t flow = 0; flow < bridge.flows.size(); flow++)
        bridge.flows[flow] = Flow{}; // before the engine they belong to
    bridge.flow_of.clear();
    bridge.bell = nullptr;
    return rc;
}
} // namespace

enum sand_rc sand_bridge_run(const struct sand_bridge_platform *platform, sand_pump_fn *pump,
                             void *argument, struct sand_diag *diag)
{
    const enum sand_rc checked = check_platform(platform, diag);
    if (checked != SAND_OK)
        return checked;
    if (!take_engine())
        return sand_fail(diag, SAND_ERR_INTERNAL,
                         "bridge: this process has run an engine before; SimGrid allows one per "
                         "process, so fork first");
    sand_bridge bridge;
    const enum sand_rc rc = bridge.guarded([&]() -> enum sand_rc {
        return run_engine(bridge, *platform, pump, argument);
    });
    if (rc != SAND_OK && !bridge.trouble.empty())
        return sand_fail(diag, rc, "bridge: %s", bridge.trouble.c_str());
    return rc;
}

double sand_bridge_now_s(const struct sand_bridge *)
{
    return s4u::Engine::get_clock();
}

enum sand_rc sand_bridge_flow_start(struct sand_bridge *bridge, const uint32_t *links, uint32_t n,
                                    double bytes, uint32_t *flow)
{
    return bridge->guarded([&] { return bridge->start(links, n, bytes, flow); });
}

enum sand_rc sand_bridge_wait(struct sand_bridge *bridge, double seconds,
                              struct sand_flow_end *ends, uint32_t *n)
{
    *n = 0;
    return bridge->guarded([&]() -> enum sand_rc {
        const enum sand_rc rc = bridge->wait(seconds);
        if (rc == SAND_OK)
            bridge->report(ends, n);
        return rc;
    });
}

enum sand_rc sand_bridge_flow_cancel(struct sand_bridge *bridge, uint32_t flow, double *remaining_B)
{
    return bridge->guarded([&]() -> enum sand_rc {
        if (!bridge->in_use(flow))
            return bridge->refuse("flow " + std::to_string(flow) + " is not alive");
        const double left = bridge->cancel(flow);
        if (remaining_B != nullptr)
            *remaining_B = left;
        return SAND_OK;
    });
}

double sand_bridge_flow_remaining_B(const struct sand_bridge *bridge, uint32_t flow)
{
    // SimGrid brings an action up to date when asked, so the object changes; what it says does not.
    auto *self = const_cast<struct sand_bridge *>(bridge);
    double left = 0;
    (void)self->guarded([&]() -> enum sand_rc {
        left = self->remaining(flow);
        return SAND_OK;
    });
    return left;
}

enum sand_rc sand_bridge_link_set(struct sand_bridge *bridge, uint32_t link, double Bps)
{
    return bridge->guarded([&]() -> enum sand_rc {
        if (link >= bridge->links.size() || !std::isfinite(Bps) || Bps <= 0)
            return bridge->refuse("link " + std::to_string(link) + " cannot be set to " +
                                  std::to_string(Bps) + " B/s");
        bridge->links[link]->set_bandwidth(Bps);
        return SAND_OK;
    });
}

enum sand_rc sand_bridge_link_power(struct sand_bridge *bridge, uint32_t link, int on)
{
    return bridge->guarded([&]() -> enum sand_rc {
        if (link >= bridge->links.size())
            return bridge->refuse("link " + std::to_string(link) + " does not exist");
        bridge->power(link, on != 0);
        return SAND_OK;
    });
}

const char *sand_bridge_simgrid_version(void)
{
    static const std::string text = [] {
        int major = 0, minor = 0, patch = 0;
        sg_version_get(&major, &minor, &patch);
        const auto name = [](int a, int b, int c) {
            return std::to_string(a) + "." + std::to_string(b) +
                   (c != 0 ? "." + std::to_string(c) : "");
        };
        const std::string used = name(major, minor, patch);
        const std::string built =
            name(SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR, SIMGRID_VERSION_PATCH);
        return used == built ? used : used + " (built against " + built + ")";
    }();
    return text.c_str();
}
