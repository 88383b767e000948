#include "app/commands/doctor_checks.h"

#include <gtest/gtest.h>

#include <vector>

namespace windrow::app {
namespace {

constexpr std::string_view kLevel2 = "lm cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3";
constexpr std::string_view kLevel3 = "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave";
constexpr std::string_view kLevel4 = "avx512bw avx512cd avx512dq avx512f avx512vl";

std::string cpu_info(const std::string& flags) {
  return "processor\t: 0\nmodel name\t: A Processor @ 2 GHz\nflags\t\t: fpu " + flags +
         " vmx\nbogomips\t: 1\n\nprocessor\t: 1\nmodel name\t: Another\nflags\t\t: lm\n";
}

std::string words(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts)
    text.append(text.empty() ? "" : " ").append(part);
  return text;
}

engine::Device device(engine::DeviceKind kind) {
  return {.name = kind == engine::DeviceKind::kCpu ? "CPU" : "Vulkan0",
          .description = "a device",
          .kind = kind,
          .memory_bytes = 8ULL << 30,
          .memory_free_bytes = 4ULL << 30};
}

LibraryFacts library() {
  return {.path = "/usr/lib/windrow/libllama.so.0",
          .built_against = "libllama0 1:0.7.0+dfsg-2, libggml0 0.27.0-1",
          .tested = "libllama0 1:0.7.0+dfsg-2, libggml0 0.27.0-1",
          .plugins = {"/usr/lib/windrow/backends/libggml-cpu-haswell.so"},
          .devices = {device(engine::DeviceKind::kCpu)}};
}

TEST(DoctorCpu, TheLevelIsThatOfAllItsFlags) {
  EXPECT_EQ(parse_cpu_info(cpu_info("lm"), 1).level, 1);
  EXPECT_EQ(parse_cpu_info(cpu_info(words({kLevel2})), 1).level, 2);
  EXPECT_EQ(parse_cpu_info(cpu_info(words({kLevel2, kLevel3})), 1).level, 3);
  EXPECT_EQ(parse_cpu_info(cpu_info(words({kLevel2, kLevel3, kLevel4})), 1).level, 4);
  // "avx512f" alone is no "avx", and a level needs those below it.
  EXPECT_EQ(parse_cpu_info(cpu_info(words({kLevel2, kLevel4})), 1).level, 2);
  EXPECT_EQ(parse_cpu_info(cpu_info(words({kLevel3})), 1).level, 0);
  EXPECT_EQ(parse_cpu_info("Features : fp asimd\n", 4).level, 0);
  EXPECT_EQ(parse_cpu_info("", 4).level, 0);
}

TEST(DoctorCpu, SaysWhatItComputesWith) {
  const CpuFacts cpu = parse_cpu_info(cpu_info(words({kLevel2, kLevel3})), 2);
  const Finding finding = check_cpu(cpu, library());
  EXPECT_EQ(finding.verdict, Verdict::kOk);
  EXPECT_EQ(finding.says,
            "A Processor @ 2 GHz, 2 cores, x86-64-v3; computes with libggml-cpu-haswell.so");
}

TEST(DoctorCpu, AProcessorWithoutAvx2IsSlow) {
  const Finding finding = check_cpu({.model = "Old", .cores = 1, .level = 2}, library());
  EXPECT_EQ(finding.verdict, Verdict::kWarning);
  EXPECT_EQ(finding.says,
            "Old, 1 core, x86-64-v2; computes with libggml-cpu-haswell.so; it has no AVX2");
  EXPECT_NE(finding.advice, "");
}

TEST(DoctorCpu, APlugInBelowTheProcessorIsReported) {
  LibraryFacts facts = library();
  for (const char* name : {"x64", "sse42", "sandybridge", "ivybridge", "piledriver"}) {
    facts.plugins = {"/lib/libggml-base.so.0", std::string("/l/b/libggml-cpu-") + name + ".so"};
    const Finding finding = check_cpu({.model = "New", .cores = 1, .level = 4}, facts);
    EXPECT_EQ(finding.verdict, Verdict::kWarning) << name;
    EXPECT_NE(finding.advice.find("missing in /l/b:"), std::string::npos) << finding.advice;
  }
  for (const char* name : {"haswell", "skylakex", "zen4"}) {
    facts.plugins = {std::string("/l/b/libggml-cpu-") + name + ".so"};
    EXPECT_EQ(check_cpu({.cores = 1, .level = 4}, facts).verdict, Verdict::kOk) << name;
  }
  // Built into libggml, and on other processors: nothing is known to be wrong.
  facts.plugins.clear();
  EXPECT_EQ(check_cpu({.cores = 1, .level = 4}, facts).verdict, Verdict::kOk);
  EXPECT_EQ(check_cpu({.cores = 1, .level = 0}, facts).verdict, Verdict::kOk);
}

TEST(DoctorRuntime, LibrariesAreThoseOfTheirFileNames) {
  constexpr std::string_view kMaps =
      "7f00-7f01 r--p 00000000 08:01 12   /opt/my lib/libllama.so.0\n"
      "7f01-7f02 r-xp 00001000 08:01 12   /opt/my lib/libllama.so.0\n"
      "7f02-7f03 rw-p 00000000 00:00 0 \n"
      "7f03-7f04 rw-p 00000000 00:00 0    [heap]\n"
      "7f04-7f05 r--p 00000000 08:01 13   /libggml-cpu-x/libc.so.6\n"
      "7f05-7f06 r--p 00000000 08:01 14   /b/libggml-cpu-zen4.so";
  EXPECT_EQ(libraries_in_maps(kMaps, "libllama.so"),
            std::vector<std::string>{"/opt/my lib/libllama.so.0"});
  EXPECT_EQ(libraries_in_maps(kMaps, "libggml-"),
            std::vector<std::string>{"/b/libggml-cpu-zen4.so"});
  EXPECT_TRUE(libraries_in_maps(kMaps, "libz").empty());
  EXPECT_TRUE(libraries_in_maps("", "lib").empty());
}

TEST(DoctorRuntime, TestedVersionsAreTheSamePackagesOrTheSameVersionOfTheSystem) {
  LibraryFacts facts = library();
  EXPECT_EQ(check_runtime(facts).verdict, Verdict::kOk);
  facts.built_against = "libllama 0.7.0 of the system, build 5";
  EXPECT_EQ(check_runtime(facts).verdict, Verdict::kOk);
  for (const char* other :
       {"libllama 0.7.01 of the system, build 5", "libllama 0.8.0 of the system",
        "libllama0 1:0.7.0+dfsg-3, libggml0 0.27.0-1"}) {
    facts.built_against = other;
    const Finding finding = check_runtime(facts);
    EXPECT_EQ(finding.verdict, Verdict::kWarning) << other;
    EXPECT_NE(finding.says.find("tested was libllama0 1:0.7.0+dfsg-2"), std::string::npos);
  }
}

TEST(DoctorRuntime, ALibraryThatDoesNotStartIsAFault) {
  LibraryFacts facts = library();
  facts.failure = "no plug-in fits";
  facts.path.clear();
  const Finding finding = check_runtime(facts);
  EXPECT_EQ(finding.verdict, Verdict::kFault);
  EXPECT_EQ(finding.says,
            "libllama in the program (libllama0 1:0.7.0+dfsg-2, libggml0 0.27.0-1): "
            "no plug-in fits");
}

TEST(DoctorDevices, AGpuThatIsNotUsedIsAWarning) {
  LibraryFacts facts = library();
  EXPECT_EQ(check_devices(facts, {}).verdict, Verdict::kOk);
  EXPECT_EQ(check_devices(facts, {}).says, "CPU (a device, 4.00 GiB free of 8.00 GiB)");

  const std::vector<GpuFile> usable = {{.path = "/dev/nvidia0", .may_use = true}};
  const std::vector<GpuFile> denied = {{.path = "/dev/nvidia0", .may_use = true},
                                       {.path = "/dev/kfd", .may_use = false}};
  const Finding no_plugin = check_devices(facts, usable);
  EXPECT_EQ(no_plugin.verdict, Verdict::kWarning);
  EXPECT_NE(no_plugin.says.find("/dev/nvidia0 is there, and no plug-in"), std::string::npos);
  const Finding no_right = check_devices(facts, denied);
  EXPECT_EQ(no_right.verdict, Verdict::kWarning);
  EXPECT_NE(no_right.says.find("/dev/kfd is there, and this user may not"), std::string::npos);
  EXPECT_NE(no_right.advice.find("render"), std::string::npos);

  facts.devices.push_back(device(engine::DeviceKind::kGpu));
  EXPECT_EQ(check_devices(facts, denied).verdict, Verdict::kOk);
  facts.devices.clear();
  EXPECT_EQ(check_devices(facts, {}).verdict, Verdict::kFault);
}

TEST(DoctorMemory, IsWhatTheMachineAndItsContainerLeave) {
  constexpr std::string_view kMemInfo =
      "MemTotal:        8388608 kB\nMemFree:          1 kB\nMemAvailable:    4194304 kB\n";
  const MemoryFacts free = parse_memory_info(kMemInfo, "max\n");
  EXPECT_EQ(free.total_bytes, 8ULL << 30);
  EXPECT_EQ(usable_memory(free), 4ULL << 30);
  EXPECT_EQ(check_memory_size(free).says, "4.00 GiB available of 8.00 GiB");

  const MemoryFacts limited = parse_memory_info(kMemInfo, "536870912\n");
  EXPECT_EQ(usable_memory(limited), 512ULL << 20);
  EXPECT_EQ(check_memory_size(limited).verdict, Verdict::kWarning);
  EXPECT_EQ(check_memory_size(limited).says, "4.00 GiB available of 8.00 GiB, limited to 512 MiB");

  EXPECT_EQ(usable_memory(parse_memory_info(kMemInfo, "")), 4ULL << 30);
}

TEST(DoctorModel, SaysWhetherItLoadsAndFits) {
  const CheckedModel model = {
      .named = "m.gguf", .description = "qwen3 0.6B Q8_0", .bytes = 3ULL << 30};
  EXPECT_EQ(check_model(model, 4ULL << 30),
            (Finding{.name = "model",
                     .says = "m.gguf: qwen3 0.6B Q8_0, about 3.00 GiB with its contexts"}));
  const Finding large = check_model(model, 2ULL << 30);
  EXPECT_EQ(large.verdict, Verdict::kWarning);
  EXPECT_NE(large.says.find("and 2.00 GiB are free"), std::string::npos);

  const Finding damaged = check_model({.named = "m.gguf", .failure = "m.gguf: it is cut off"}, 1);
  EXPECT_EQ(damaged.verdict, Verdict::kFault);
  EXPECT_EQ(damaged.says, "m.gguf: it is cut off");
  EXPECT_EQ(check_model({.named = "m.gguf", .failure = "no"}, 1).says, "m.gguf: no");
  EXPECT_EQ(check_model({.named = "hf:a/b/c.gguf", .is_remote = true}, 0).verdict, Verdict::kOk);
}

TEST(DoctorText, HasEachCheckItsAdviceAndTheSum) {
  const std::vector<Finding> findings = {
      {.name = "cpu", .says = "fine"},
      {.name = "memory", .verdict = Verdict::kWarning, .says = "little", .advice = "buy some"},
      {.name = "model", .verdict = Verdict::kFault, .says = "none", .advice = "get one"}};
  EXPECT_EQ(findings_text(findings),
            "ok       cpu         fine\n"
            "warning  memory      little\n"
            "                     -> buy some\n"
            "fault    model       none\n"
            "                     -> get one\n"
            "1 fault, 1 warning\n");
  EXPECT_TRUE(has_fault(findings));
  const boost::json::object json = findings_json(findings, "1.2.3");
  EXPECT_EQ(json.at("version"), "1.2.3");
  EXPECT_EQ(json.at("works"), false);
  const boost::json::array& checks = json.at("checks").as_array();
  ASSERT_EQ(checks.size(), 3U);
  EXPECT_EQ(checks[0].as_object().contains("advice"), false);
  EXPECT_EQ(checks[2].at("verdict"), "fault");
  EXPECT_EQ(checks[2].at("advice"), "get one");

  const std::vector<Finding> good = {{.name = "cpu", .says = "fine"}};
  EXPECT_EQ(findings_text(good), "ok       cpu         fine\nnothing is wrong\n");
  EXPECT_FALSE(has_fault(good));
}

}  // namespace
}  // namespace windrow::app
