import DispatchStore
import Synchronization
import Testing

@testable import Recipes

@Suite struct JobQueueTests {
  @Test func fourJobsRunAtATimeAndTheDrainFinishesAllThatWait() async {
    let dispatcher = Dispatcher(name: "test")
    let runs = Mutex((now: 0, most: 0))
    let videos = startEncoding(dispatcher) { _ in
      runs.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      await Task.yield()
      runs.withLock { $0.now -= 1 }
    }
    for video in 0..<100 { videos.dispatch(Encode(video: video)) }
    #expect(await dispatcher.drain().isComplete)
    #expect(videos.model.encoded.count == 100)
    #expect(runs.withLock { $0.most } <= 4)
  }

  @Test func aJobTooManyIsRefused() async {
    let dispatcher = Dispatcher(name: "test")
    let videos = startEncoding(dispatcher) { _ in }
    videos.updateModel { $0.unfinished = Set(0..<10_000) }
    await #expect(throws: TooManyJobs.self) { try await videos.send(Encode(video: 10_000)).get() }
    await dispatcher.drain()
  }
}
