#include "memory/service/bank_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "memory/service/bank_files.h"

namespace windrow::memory {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMsPerSecond = 1000;

// A folder of banks has what people told their agents.
Result<void> make_private_folder(const std::string& path) {
  std::error_code error;
  if (fs::create_directories(path, error))
    fs::permissions(path, fs::perms::owner_all, fs::perm_options::replace, error);
  if (error || !fs::is_directory(path, error)) {
    return Error{ErrorKind::kIo, fmt::format("the folder {} cannot be made: {}", path,
                                             error ? error.message() : "a file has this name")};
  }
  return {};
}

Result<std::unique_ptr<store::FileLock>> hold_folder(const std::string& folder, store::Disk& disk) {
  return disk.lock(folder + "/.lock");
}

}  // namespace

// --- Use --------------------------------------------------------------------------------------

class BankRegistry::Use {
 public:
  Use(BankRegistry& registry, const std::string& name) : registry_(registry) {
    const std::scoped_lock lock(registry_.mutex_);
    place_ = registry_.entries_.try_emplace(name).first;
    place_->second.last_used = ++registry_.uses_;
    begin();
  }

  // Of the bank that was used least recently, if more than `open_max` are in the table and there is
  // one that no thread uses. Under mutex_.
  static std::optional<Use> of_oldest(BankRegistry& registry, size_t open_max);

  Use(Use&& other) noexcept
      : registry_(other.registry_),
        place_(other.place_),
        is_held_(std::exchange(other.is_held_, false)) {}
  Use& operator=(Use&&) = delete;

  ~Use() {
    if (!is_held_) return;
    const std::scoped_lock lock(registry_.mutex_);
    Entry& entry = place_->second;
    // An entry that no thread uses has no thread in `changing`, so `store` can be looked at.
    if (--entry.users == 0 && entry.store == nullptr) registry_.entries_.erase(place_);
  }

  Entry& entry() { return place_->second; }

 private:
  using Place = std::map<std::string, Entry>::iterator;

  Use(BankRegistry& registry, Place place) : registry_(registry), place_(place) { begin(); }

  void begin() {
    ++place_->second.users;
    is_held_ = true;
  }

  BankRegistry& registry_;
  Place place_;
  bool is_held_ = false;
};

std::optional<BankRegistry::Use> BankRegistry::Use::of_oldest(BankRegistry& registry,
                                                              size_t open_max) {
  if (registry.entries_.size() <= open_max) return std::nullopt;
  auto oldest = registry.entries_.end();
  for (auto place = registry.entries_.begin(); place != registry.entries_.end(); ++place) {
    const Entry& entry = place->second;
    const bool is_free = entry.users == 0 && entry.store.use_count() == 1;
    if (is_free &&
        (oldest == registry.entries_.end() || entry.last_used < oldest->second.last_used))
      oldest = place;
  }
  if (oldest == registry.entries_.end()) return std::nullopt;
  return Use(registry, oldest);
}

// --- BankRegistry -----------------------------------------------------------------------------

Result<std::unique_ptr<BankRegistry>> BankRegistry::open(std::string folder, store::Disk& disk,
                                                         const Clock& clock, Options options) {
  if (Result<void> made = make_private_folder(folder); !made) return made.error();
  Result<std::unique_ptr<store::FileLock>> lock = hold_folder(folder, disk);
  if (!lock) return lock.error();
  std::unique_ptr<BankRegistry> registry(
      new BankRegistry(std::move(folder), *std::move(lock), disk, clock, std::move(options)));
  const Result<std::vector<std::string>> names = registry->file_names();
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!name.ends_with(kBankEnding) || is_hashed_bank_name(name) || bank_of_file_name(name))
      continue;
    if (registry->options_.warn) {
      registry->options_.warn(
          fmt::format("{} is not taken for a bank: its name is not that of one; give it the name "
                      "that it had, or move it away",
                      registry->path_of(name)));
    }
  }
  return registry;
}

BankRegistry::BankRegistry(std::string folder, std::unique_ptr<store::FileLock> lock,
                           store::Disk& disk, const Clock& clock, Options options)
    : folder_(std::move(folder)),
      lock_(std::move(lock)),
      disk_(disk),
      clock_(clock),
      options_(std::move(options)) {}

BankRegistry::~BankRegistry() = default;

std::string BankRegistry::path_of(std::string_view name) const {
  return fmt::format("{}/{}", folder_, name);
}

Result<std::vector<std::string>> BankRegistry::file_names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end;
       file.increment(error))
    names.push_back(file->path().filename().string());
  if (error) {
    return Error{ErrorKind::kIo,
                 fmt::format("cannot read the folder {}: {}", folder_, error.message())};
  }
  return names;
}

Result<std::shared_ptr<SqliteBankStore>> BankRegistry::opened(const std::string& name,
                                                              const Bank* made) {
  Use use(*this, name);
  const std::scoped_lock lock(use.entry().changing);
  std::shared_ptr<SqliteBankStore>& store = use.entry().store;
  if (store != nullptr) return store;
  const std::string path = path_of(name);
  if (made != nullptr && !disk_.exists(path)) {
    if (Result<void> done = make_bank_file(disk_, path, *made); !done) return done.error();
  }
  Result<std::unique_ptr<SqliteBankStore>> opened = SqliteBankStore::open(path, options_.warn);
  if (!opened) return opened.error();
  const Result<Bank> bank = (*opened)->bank();
  if (!bank) return bank.error();
  if (bank_file_name(bank->id) != name) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} is the file of the bank \"{}\": give it its own name, {}", path,
                             bank->id.text, bank_file_name(bank->id))};
  }
  store = *std::move(opened);
  return store;
}

// Closing waits for the disk, so it is done under the entry's lock alone; a thread that wants the
// bank meanwhile waits for that and opens it again.
void BankRegistry::close_unused() {
  for (;;) {
    std::optional<Use> use;
    {
      const std::scoped_lock lock(mutex_);
      std::optional<Use> oldest = Use::of_oldest(*this, options_.open_max);
      if (!oldest) return;
      use.emplace(*std::move(oldest));
    }
    const std::scoped_lock lock(use->entry().changing);
    if (use->entry().store.use_count() == 1) use->entry().store.reset();
  }
}

Result<std::shared_ptr<BankStore>> BankRegistry::bank(const BankId& id) {
  Result<std::shared_ptr<SqliteBankStore>> store = opened(bank_file_name(id), nullptr);
  close_unused();
  if (store) return std::shared_ptr<BankStore>(*std::move(store));
  if (store.error().kind != ErrorKind::kNotFound) return store.error();
  return Error{ErrorKind::kNotFound, fmt::format("there is no bank \"{}\"", id.text)};
}

Result<std::shared_ptr<BankStore>> BankRegistry::bank_or_new(const BankId& id,
                                                             std::string_view owner) {
  const UnixMs now = clock_.unix_seconds() * kMsPerSecond;
  const Bank made{.id = id, .owner = std::string(owner), .created = now, .updated = now};
  Result<std::shared_ptr<SqliteBankStore>> store = opened(bank_file_name(id), &made);
  close_unused();
  if (!store) return store.error();
  return std::shared_ptr<BankStore>(*std::move(store));
}

Result<void> BankRegistry::remove(const BankId& id) {
  const std::string name = bank_file_name(id);
  Use use(*this, name);
  const std::scoped_lock lock(use.entry().changing);
  std::shared_ptr<SqliteBankStore>& store = use.entry().store;
  // SQLite removes the log of a file by its name, so the file is closed while it has one.
  if (store != nullptr) store->close();
  store.reset();
  Result<void> removed = remove_bank_file(disk_, path_of(name));
  if (!removed && removed.error().kind == ErrorKind::kNotFound)
    return Error{ErrorKind::kNotFound, fmt::format("there is no bank \"{}\"", id.text)};
  return removed;
}

Result<std::vector<BankId>> BankRegistry::list() {
  const Result<std::vector<std::string>> names = file_names();
  if (!names) return names.error();
  std::vector<BankId> banks;
  for (const std::string& name : *names) {
    if (std::optional<BankId> id = bank_of_file_name(name)) {
      banks.push_back(*std::move(id));
    } else if (is_hashed_bank_name(name)) {
      const Result<std::shared_ptr<SqliteBankStore>> store = opened(name, nullptr);
      const Result<Bank> bank = store ? (*store)->bank() : Result<Bank>(store.error());
      if (bank)
        banks.push_back(bank->id);
      else if (options_.warn && bank.error().kind != ErrorKind::kNotFound)
        options_.warn(bank.error().message);
      close_unused();
    }
  }
  std::ranges::sort(banks);
  return banks;
}

// --- one file ---------------------------------------------------------------------------------

namespace {

// A bank with the lock of its folder, which is held longer than it is open.
struct HeldBank {
  std::unique_ptr<store::FileLock> lock;
  std::unique_ptr<SqliteBankStore> store;
};

BankId named_after(const fs::path& path) {
  const std::string name = path.filename().string();
  if (std::optional<BankId> id = bank_of_file_name(name)) return *std::move(id);
  const Result<BankId> stem = bank_id_from(path.stem().string());
  return stem ? *stem : BankId{"bank"};
}

}  // namespace

Result<std::shared_ptr<BankStore>> open_bank_file(const std::string& path, store::Disk& disk,
                                                  const Clock& clock, bool create) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return Error{ErrorKind::kInvalid, fmt::format("{} is a folder; give the file of a bank", path)};
  }
  if (!create && !fs::exists(path, ignored)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("there is no bank file {}; retain something to make one", path)};
  }
  if (!fs::is_directory(folder, ignored)) {
    return Error{
        ErrorKind::kNotFound,
        fmt::format("there is no folder {}; make it, or give another path for the bank", folder)};
  }
  Result<std::unique_ptr<store::FileLock>> lock = hold_folder(folder, disk);
  if (!lock) {
    if (lock.error().kind != ErrorKind::kConflict) return lock.error();
    return lock.error().in(
        fmt::format("cannot open {}, as one process at a time uses the banks of a folder", path));
  }
  auto held = std::make_shared<HeldBank>();
  held->lock = *std::move(lock);
  if (!disk.exists(path)) {
    const UnixMs now = clock.unix_seconds() * kMsPerSecond;
    const Bank bank{.id = named_after(path), .created = now, .updated = now};
    if (Result<void> made = make_bank_file(disk, path, bank); !made) return made.error();
  }
  Result<std::unique_ptr<SqliteBankStore>> store = SqliteBankStore::open(path);
  if (!store) return store.error();
  held->store = *std::move(store);
  return std::shared_ptr<BankStore>(held, held->store.get());
}

}  // namespace windrow::memory
