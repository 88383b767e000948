#include "structured/words.h"

#include <array>

namespace windrow::structured {
namespace {

using Words = std::span<const std::string_view>;

constexpr auto kShop = std::to_array<std::string_view>(
    {"order",    "basket",   "price",   "discount", "voucher", "sku",    "stock",
     "supplier", "invoice",  "refund",  "parcel",   "courier", "brand",  "variant",
     "currency", "tax",      "margin",  "shelf",    "bundle",  "review", "rating",
     "wishlist", "checkout", "payment", "cashier"});
constexpr auto kClinic = std::to_array<std::string_view>(
    {"patient", "diagnosis", "dose",         "allergy",   "ward",     "physician",
     "symptom", "therapy",   "vaccine",      "pulse",     "specimen", "referral",
     "triage",  "discharge", "prescription", "anamnesis", "lesion",   "biopsy",
     "insurer", "consent",   "bed",          "surgeon",   "onset",    "severity"});
constexpr auto kFreight = std::to_array<std::string_view>(
    {"vessel", "container", "berth",  "manifest", "customs", "route",     "depot",
     "pallet", "axle",      "driver", "waybill",  "tonnage", "harbour",   "consignee",
     "hazard", "seal",      "gate",   "lane",     "carrier", "departure", "arrival",
     "fuel",   "trailer",   "tariff", "transit"});
constexpr auto kStaff = std::to_array<std::string_view>(
    {"employee",  "candidate",  "vacancy",     "salary",     "shift",    "contract",
     "manager",   "skill",      "certificate", "leave",      "payroll",  "bonus",
     "interview", "team",       "seniority",   "degree",     "language", "reference",
     "notice",    "onboarding", "pension",     "department", "title"});
constexpr auto kSky = std::to_array<std::string_view>(
    {"telescope",   "exposure",  "galaxy",   "redshift", "magnitude", "orbit",
     "epoch",       "filter",    "spectrum", "nebula",   "transit",   "parallax",
     "declination", "ascension", "detector", "seeing",   "airmass",   "flux",
     "catalogue",   "asteroid",  "comet",    "observer", "dome",      "mirror"});
constexpr auto kFarm = std::to_array<std::string_view>(
    {"field",    "crop",       "harvest",    "soil", "irrigation", "yield",
     "tractor",  "seed",       "fertiliser", "herd", "pasture",    "rainfall",
     "silo",     "orchard",    "pest",       "barn", "acreage",    "rotation",
     "moisture", "greenhouse", "pollinator", "weed", "plough",     "season"});
constexpr auto kCourt = std::to_array<std::string_view>(
    {"plaintiff", "defendant",  "docket",     "motion",  "verdict",      "clause",
     "statute",   "hearing",    "witness",    "exhibit", "appeal",       "counsel",
     "judge",     "settlement", "deposition", "party",   "jurisdiction", "contract",
     "penalty",   "notary",     "deed",       "bailiff", "brief",        "plea"});
constexpr auto kPress = std::to_array<std::string_view>(
    {"article", "headline", "author",     "byline",     "section", "caption",
     "photo",   "edition",  "source",     "quote",      "embargo", "paragraph",
     "topic",   "teaser",   "subscriber", "column",     "editor",  "correction",
     "podcast", "episode",  "chapter",    "transcript", "licence", "audience"});
constexpr auto kBank = std::to_array<std::string_view>(
    {"account",    "ledger",   "balance", "transfer",  "loan",      "collateral", "interest",
     "holder",     "mandate",  "branch",  "statement", "overdraft", "portfolio",  "dividend",
     "coupon",     "maturity", "broker",  "fee",       "limit",     "card",       "merchant",
     "chargeback", "iban",     "escrow",  "risk"});
constexpr auto kPlatform = std::to_array<std::string_view>(
    {"pod",       "node",       "replica",  "namespace", "selector", "label",  "annotation",
     "probe",     "volume",     "mount",    "secret",    "ingress",  "policy", "quota",
     "scheduler", "toleration", "affinity", "rollout",   "image",    "port",   "service",
     "endpoint",  "token",      "webhook",  "lease",     "taint",    "limit",  "request"});
constexpr auto kMusic = std::to_array<std::string_view>(
    {"track",  "album",    "composer", "tempo",     "chord",     "lyric",     "venue",   "setlist",
     "encore", "remix",    "sample",   "conductor", "orchestra", "rehearsal", "ticket",  "royalty",
     "genre",  "playlist", "octave",   "mixdown",   "festival",  "stage",     "soloist", "score"});
constexpr auto kHouse = std::to_array<std::string_view>(
    {"tenant",  "lease",  "floor",  "meter",      "boiler",   "listing",  "broker",    "deposit",
     "balcony", "facade", "permit", "inspection", "mortgage", "parcel",   "utility",   "thermostat",
     "sensor",  "alarm",  "garage", "insulation", "roof",     "elevator", "appraisal", "occupant"});

constexpr std::array<Words, 12> kDomains{kShop,  kClinic, kFreight, kStaff,    kSky,   kFarm,
                                         kCourt, kPress,  kBank,    kPlatform, kMusic, kHouse};

constexpr auto kBefore = std::to_array<std::string_view>(
    {"total",    "first",    "last",    "is",        "has",   "max",       "min",      "expected",
     "previous", "primary",  "source",  "target",    "raw",   "estimated", "external", "parent",
     "default",  "original", "current", "requested", "known", "other",     "next",     "local"});
constexpr auto kBehind = std::to_array<std::string_view>(
    {"id",   "at",    "count",  "name",  "code",        "type",    "status", "note", "list",
     "date", "url",   "ref",    "score", "level",       "reason",  "index",  "unit", "group",
     "key",  "range", "weight", "kind",  "description", "summary", "by",     "ratio"});
constexpr auto kStates = std::to_array<std::string_view>(
    {"open",   "closed",    "pending",    "approved", "rejected", "unknown", "draft",
     "active", "archived",  "in_transit", "on_hold",  "expired",  "low",     "medium",
     "high",   "critical",  "daily",      "weekly",   "none",     "partial", "complete",
     "manual", "automatic", "north",      "south",    "internal", "public"});
constexpr auto kOddNames = std::to_array<std::string_view>(
    {"größe",      "名称",        "prénom",       "дата",       "a b",        "x/y",
     "say \"hi\"", "back\\slash", "50%",          "$price",     "@type",      "#",
     "",           "tab\tbed",    "über.alles",   "naïve-flag", "été",        "π",
     "🙂",         "~tilde",      "en–dash",      "type",       "properties", "$ref",
     "required",   "__proto__x",  "constructor_", "0",          "-1",         "null"});
constexpr auto kProse = std::to_array<std::string_view>(
    {"the",       "of",      "a",       "late",     "shipment", "was",    "seen",     "near",
     "gate",      "seven",   "before",  "noon",     "and",      "nobody", "signed",   "for",
     "it",        "which",   "delayed", "three",    "others",   "by",     "two",      "hours",
     "according", "to",      "Ms",      "Okonkwo,", "whose",    "report", "(see",     "annex)",
     "names",     "causes:", "fog;",    "strike.",  "Costs",    "rose",   "4.5",      "percent",
     "since",     "March",   "2024",    "although", "demand",   "fell",   "slightly", "in",
     "Łódź",      "Zürich",  "São",     "Paulo"});
constexpr auto kProseOdd = std::to_array<std::string_view>(
    {"\"quoted\"", "C:\\temp\\x", "line\nbreak", "tab\there", "日本語の文", "данные",
     "🚚🙂",       "é",           "e\u0301",     "a/b/c",     "<tag>",      "{\"k\":1}",
     "\u2028",     "½",           "مرحبا",       "한국어",    "\x01",       "\x7f",
     "\b\f\r",     "𝔘𝔫𝔦",         "👩‍🔬", "'single'",  "$100",       "null",
     "true",       "-1e9",        "\\u0041",     "\\"});

std::string capital(std::string word) {
  if (!word.empty() && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 32);
  return word;
}

std::string join(const std::vector<std::string_view>& words, NameStyle style) {
  std::string name;
  for (const std::string_view word : words) {
    if (name.empty()) {
      name = word;
    } else if (style == NameStyle::kCamel) {
      name += capital(std::string(word));
    } else {
      name += (style == NameStyle::kKebab ? '-' : '_') + std::string(word);
    }
  }
  return name;
}

}  // namespace

Names::Names(Random& random) : domain_(random.below(kDomains.size())) {
  const uint64_t draw = random.below(20);
  style_ = draw < 11   ? NameStyle::kSnake
           : draw < 17 ? NameStyle::kCamel
           : draw < 19 ? NameStyle::kKebab
                       : NameStyle::kOdd;
}

std::string Names::member(Random& random) const {
  if (style_ == NameStyle::kOdd && random.chance(0.4)) {
    return std::string(pick(random, std::span<const std::string_view>(kOddNames)));
  }
  const Words domain = kDomains[random.chance(0.9) ? domain_ : random.below(kDomains.size())];
  std::vector<std::string_view> words;
  if (random.chance(0.3)) words.push_back(pick(random, Words(kBefore)));
  words.push_back(pick(random, domain));
  if (random.chance(0.1)) words.push_back(pick(random, domain));
  if (random.chance(0.55)) words.push_back(pick(random, Words(kBehind)));
  return join(words, style_);
}

std::string Names::type(Random& random) const {
  const Words domain = kDomains[domain_];
  std::string name = capital(std::string(pick(random, domain)));
  if (random.chance(0.6)) name += capital(std::string(pick(random, domain)));
  return name;
}

std::string Names::value(Random& random) const {
  if (random.chance(0.06)) return prose(random, 3);
  std::string value(random.chance(0.6) ? pick(random, Words(kStates))
                                       : pick(random, kDomains[domain_]));
  if (random.chance(0.25)) value += "_" + std::string(pick(random, Words(kBehind)));
  if (random.chance(0.15)) value = capital(std::move(value));
  return value;
}

std::string prose(Random& random, size_t words_max) {
  std::string text;
  const bool odd = random.chance(0.3);
  for (uint64_t left = random.below(words_max + 1); left > 0; --left) {
    if (!text.empty()) text += ' ';
    text +=
        odd && random.chance(0.3) ? pick(random, Words(kProseOdd)) : pick(random, Words(kProse));
  }
  return text;
}

}  // namespace windrow::structured
