// RefusalWatch: whether the refusals of an upstream mean that it is overloaded. Pure; used by one
// thread at a time.
//
// Servers, and the proxies before them, refuse a request now and then for reasons that have nothing
// to do with the load (429, 503, no answer in time). Such a refusal costs its own row a back-off
// and nothing else. An overloaded server refuses most of what it is sent, because each refusal is
// followed by the next request at once. The two are told apart by a cumulative sum
// (CUSUM; Page, Continuous Inspection Schemes, 1954): each end adds the logarithm of how much
// likelier it is when most requests are refused than when the usual share is. The sum never falls
// below 0, and is an overload once it reaches a threshold: four refusals in a row where they are
// rare, eight where every fifth request is refused, and more when answers come between them.
//
// A refusal comes back sooner than an answer, so ends come in another order than requests were
// sent: of many that are sent together the refused ones end first. Therefore it is the order of
// sending that counts: a request that is still in flight when a later one is refused was accepted.
//
// The usual share is learnt from ends that came to nothing more, within bounds: a server that
// always refuses most of its requests is never taken for a usual one.
#pragma once

#include <cstdint>
#include <set>

namespace windrow::dispatch {

class RefusalWatch {
 public:
  // Names a request, in the order they were sent.
  using Ticket = uint64_t;

  RefusalWatch();

  // A request is sent. One of the three functions below reports its end.
  Ticket sent();

  void answered(Ticket request);

  // Refused, or not answered in time. True: this refusal shows an overload. Requests in flight at
  // that moment belong to the same overload and show no second one.
  bool refused(Ticket request);

  // It ended in another way, which says nothing about the load.
  void ended_otherwise(Ticket request);

  // Of all requests, as a part of 1; between kUsualMin and kUsualMax.
  double usual_share() const;

  static constexpr double kUsualMin = 0.05;
  static constexpr double kUsualMax = 0.25;

 private:
  void count_taken();
  void add(double evidence, bool refusal);

  Ticket last_ = 0;
  Ticket last_of_overload_ = 0;  // sent before the last overload was noticed
  std::set<Ticket> out_;         // in flight, and not known to be accepted

  double evidence_ = 0;  // that it is overloaded, in nats

  // Ends that count as usual, and those since the evidence was last 0, which may turn out
  // otherwise.
  double ends_;
  double refusals_;
  double new_ends_ = 0;
  double new_refusals_ = 0;
};

}  // namespace windrow::dispatch
