#include "runtime/devices.hpp"

#include <gtest/gtest.h>

#include "tacet/engine.hpp"

namespace tacet {
namespace {

TEST(Devices, TheCpuIsAlwaysThere) {
  const auto names = detail::device_names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "cpu");
  const auto device = detail::open_device("cpu", 3);
  ASSERT_TRUE(device) << device.error().message();
  EXPECT_EQ((*device)->info().name, "cpu");
  EXPECT_NE((*device)->info().description.find("3 threads"), std::string::npos);
}

TEST(Devices, AutoIsTheFirstGpuOrTheCpu) {
  const auto names = detail::device_names();
  const auto device = detail::open_device("auto", 1);
  ASSERT_TRUE(device) << device.error().message();
  EXPECT_EQ((*device)->info().name, names.size() > 1 ? names[1] : names[0]);
}

TEST(Devices, OthersAreRefusedWithTheNamesThatThereAre) {
  for (const char* name : {"", "gpu", "cuda:", "cuda:-1", "cuda:99", "CPU", "cpu:0"}) {
    const auto device = detail::open_device(name, 1);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error().code(), Code::invalid_argument) << name;
    EXPECT_NE(device.error().message().find("use auto or one of cpu"), std::string_view::npos)
        << device.error().message();
  }
}

TEST(Devices, AnEngineSaysWhereItsModelsRunAndWhereTheyCould) {
  const auto engine = Engine::create({.threads = 2, .device = "cpu"});
  ASSERT_TRUE(engine);
  const auto own = engine->device();
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "cpu");
  EXPECT_GT(own->memory_total, 0U);
  const auto all = engine->devices();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), detail::device_names().size());
  EXPECT_EQ(all->front().description, own->description);
  EXPECT_FALSE(Engine::create({.device = "cuda:99"}));
}

}  // namespace
}  // namespace tacet
