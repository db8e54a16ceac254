import DispatchStore
import DispatchStoreTesting
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

  @Test func aJobThatHasFailedThreeTimesIsNoLongerQueued() async throws {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(name: "test", clock: clock)
    let attempts = Mutex(0)
    let videos = startEncoding(dispatcher) { _ in
      attempts.withLock { $0 += 1 }
      throw CancellationError()
    }
    dispatcher.onWarning { _ in }
    let handle = videos.dispatch(Encode(video: 1))
    for _ in 1...2 {
      await clock.waitForSleepers(atLeast: 1)
      clock.advance(by: .seconds(300))
    }
    await handle.settled()
    #expect(attempts.withLock { $0 } == 3)
    #expect(videos.model.failed == [1] && videos.model.unfinished.isEmpty)
    #expect(dispatcher.deadLetters.isEmpty)
  }

  @Test func aVideoIsWhereItsLastJobHasPutIt() async {
    let dispatcher = Dispatcher(name: "test")
    let videos = startEncoding(dispatcher) { _ in }
    videos.updateModel { ($0.failed, $0.encoded) = ([7], [8]) }
    videos.dispatch(Encode(video: 7))
    await dispatcher.drain()
    #expect(videos.model.encoded == [7, 8] && videos.model.failed.isEmpty)
  }

  @Test func aJobThatIsCancelledWhileItRunsHasFailed() async {
    let dispatcher = Dispatcher(name: "test")
    let begun = AsyncStream.makeStream(of: Void.self)
    let never = AsyncStream.makeStream(of: Void.self)
    let videos = startEncoding(dispatcher) { _ in
      begun.continuation.yield()
      for await _ in never.stream {}  // Until the task is cancelled.
    }
    videos.dispatch(Encode(video: 7))
    for await _ in begun.stream { break }
    cancelEncoding(of: 7, by: dispatcher, in: videos)
    await dispatcher.drain()
    #expect(videos.model.failed == [7] && videos.model.encoded.isEmpty)
  }

  @Test func aJobThatIsCancelledAsItEndsIsEncodedAlone() async {
    let dispatcher = Dispatcher(name: "test")
    let videos = startEncoding(dispatcher) { _ in }
    dispatcher.register(
      .before(Encoded.self) { [weak dispatcher] _, _ in
        if let dispatcher { cancelEncoding(of: 7, by: dispatcher, in: videos) }
        return .pass
      })
    videos.dispatch(Encode(video: 7))
    await dispatcher.drain()
    #expect(videos.model.encoded == [7] && videos.model.failed.isEmpty)
  }

  @Test func aJobTooManyOrQueuedTwiceIsRefused() async {
    let dispatcher = Dispatcher(name: "test")
    let videos = startEncoding(dispatcher) { _ in }
    videos.updateModel { $0.unfinished = Set(0..<10_000) }
    await #expect(throws: JobError.tooMany) { try await videos.send(Encode(video: 10_000)).get() }
    videos.updateModel { $0.unfinished = [1] }
    await #expect(throws: JobError.isQueued) { try await videos.send(Encode(video: 1)).get() }
    await dispatcher.drain()
  }
}
