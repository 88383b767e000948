// BodyDelivery: sends a long reply that is made while it is sent (session/samples/body_source.h). A
// piece is made when the client has taken all but the one before, so a slow client costs two
// pieces of memory and no thread; one that leaves ends it.
#pragma once

#include <memory>
#include <string_view>

#include "api/session/session_request.h"
#include "async/executor.h"
#include "session/samples/body_source.h"

namespace windrow::api {

// From now on this thread leaves the processor to others that need it. For threads that make long
// replies, which else delay turns wherever cores are few.
void stand_back();

class BodyDelivery : public std::enable_shared_from_this<BodyDelivery> {
 public:
  // Sends the first piece; on a worker. `workers` outlives the request.
  static void start(std::shared_ptr<SessionRequest> request,
                    std::unique_ptr<session::BodySource> source, std::string_view content_type,
                    async::Executor& workers);

  // For start().
  BodyDelivery(std::shared_ptr<SessionRequest> request, std::unique_ptr<session::BodySource> source,
               async::Executor& workers);

 private:
  void send_head(std::string_view content_type);
  void send_next();
  void send_piece();

  const std::shared_ptr<SessionRequest> request_;
  const std::unique_ptr<session::BodySource> source_;
  async::Executor& workers_;
};

}  // namespace windrow::api
