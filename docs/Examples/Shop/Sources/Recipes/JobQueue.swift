import DispatchStore

struct Videos: ModelType {
  var unfinished: Set<Int> = []
  var encoded: Set<Int> = []
  var failed: Set<Int> = []
}
struct Encode: ActionType { let video: Int }
struct Encoded: ActionType { let video: Int }
struct NotEncoded: ActionType { let video: Int }
enum JobError: Error { case tooMany, isQueued }

func startEncoding(
  _ dispatcher: Dispatcher, encode: @escaping @Sendable (_ video: Int) async throws -> Void
) -> HandlerStore<Videos> {
  let videos = dispatcher.register(
    store: Store(identifier: "videos", model: Videos()) {
      On(Encode.self) { videos, job in
        if videos.unfinished.count >= 10_000 { throw JobError.tooMany }
        guard videos.unfinished.insert(job.video).inserted else { throw JobError.isQueued }
        videos.encoded.remove(job.video)
        videos.failed.remove(job.video)
      }
      On(Encoded.self) { videos, job in
        videos.unfinished.remove(job.video)
        videos.encoded.insert(job.video)
      }
      On(NotEncoded.self) { videos, job in
        videos.unfinished.remove(job.video)
        videos.failed.insert(job.video)
      }
    })
  // Four at a time. Others wait, first come, first served.
  dispatcher.register(
    effect: DurableEffect(
      "encode", on: Encode.self, attempts: 3, attemptTimeout: .seconds(600), maxConcurrentRuns: 4
    ) { job, context in
      do {
        try await encode(job.video)
        return Encoded(video: job.video)
      } catch {
        if context.attempt < 3 { throw error }
        return NotEncoded(video: job.video)  // Instead of a dead letter.
      }
    })
  return videos
}

/// Ends a job, which has failed then; one that is done or about to be stays so.
func cancelEncoding(of video: Int, by dispatcher: Dispatcher, in videos: HandlerStore<Videos>) {
  for work in dispatcher.pendingEffects where (work.action as? Encode)?.video == video {
    if dispatcher.remove(work) { videos.dispatch(NotEncoded(video: video)) }
  }
}
