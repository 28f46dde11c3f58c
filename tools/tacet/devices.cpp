#include <fmt/format.h>

#include <memory>

#include "tacet/command.hpp"
#include "tacet/console.hpp"
#include "tacet/engine.hpp"
#include "tacet/exit_codes.hpp"

namespace tacet::cli {
namespace {

int devices(bool json) {
  Result<Engine> engine = Engine::create();
  if (!engine) return complain(engine.error());
  Json list = Json::array();
  Table table({"device", "description", ">memory", ">free", ">stop bound"});
  const Result<std::vector<DeviceDescription>> devices = engine->devices();
  if (!devices) return complain(devices.error());
  for (const DeviceDescription& device : *devices) {
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"memory_total", device.memory_total},
                    {"memory_free", device.memory_free},
                    {"stop_bound_us", microseconds(device.stop_bound)}});
    table.add(
        {device.name, device.description, human_bytes(static_cast<double>(device.memory_total)),
         human_bytes(static_cast<double>(device.memory_free)), human_time(device.stop_bound)});
  }
  return json ? print_json(list) : print(table.text());
}

}  // namespace

void add_devices(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("devices", "List the devices that models can run on");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print a JSON array");
  command->footer(
      "The stop bound is the longest work between two looks at a stop request.\n\n"
      "Example:\n  tacet devices --json");
  command->callback([&job, json] { job = [json] { return devices(*json); }; });
}

}  // namespace tacet::cli
