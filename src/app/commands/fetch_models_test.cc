#include "app/commands/fetch_models.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

TEST(FetchModels, TheFolderIsThatOfCaches) {
  EXPECT_EQ(models_folder({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}).value(), "/c/windrow/models");
  EXPECT_EQ(models_folder({{"HOME", "/h"}}).value(), "/h/.cache/windrow/models");
  EXPECT_FALSE(models_folder({}).has_value());
}

TEST(FetchModels, ProgressSaysWhatIsKnown) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(download_text({.file = "f", .bytes = kGiB, .bytes_in_all = 4 * kGiB}, 1 << 24),
            "f: 1.00 GiB of 4.00 GiB (25 %), 16.0 MiB/s, 3 min 12 s left");
  EXPECT_EQ(download_text({.file = "f", .bytes = 1536, .bytes_in_all = {}}, 1024),
            "f: 1.50 KiB, 1.00 KiB/s");
  EXPECT_EQ(download_text({.file = "f", .bytes = 5, .bytes_in_all = 5}, 0),
            "f: 5 B of 5 B (100 %)");
  EXPECT_EQ(download_text({.file = "f", .bytes = 0, .bytes_in_all = kGiB}, 1e-9),
            "f: 0 B of 1.00 GiB (0 %), 0 B/s");
}

}  // namespace
}  // namespace windrow::app
