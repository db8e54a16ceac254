import DispatchStore

struct Videos: ModelType {
  var unfinished: Set<Int> = []
  var encoded: Set<Int> = []
}
struct Encode: ActionType { let video: Int }
struct Encoded: ActionType { let video: Int }
struct TooManyJobs: Error {}

func startEncoding(
  _ dispatcher: Dispatcher, encode: @escaping @Sendable (_ video: Int) async throws -> Void
) -> HandlerStore<Videos> {
  let videos = dispatcher.register(
    store: Store(identifier: "videos", model: Videos()) {
      On(Encode.self) { videos, job in
        if videos.unfinished.count >= 10_000 { throw TooManyJobs() }
        videos.unfinished.insert(job.video)
      }
      On(Encoded.self) { videos, job in
        videos.unfinished.remove(job.video)
        videos.encoded.insert(job.video)
      }
    })
  // Four at a time. Others wait, first come, first served.
  dispatcher.register(
    effect: DurableEffect("encode", on: Encode.self, attempts: 3, maxConcurrentRuns: 4) { job, _ in
      try await encode(job.video)
      return Encoded(video: job.video)
    })
  return videos
}
