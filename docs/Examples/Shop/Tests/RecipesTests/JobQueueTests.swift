import DispatchStore
import Synchronization
import Testing

@testable import Recipes

@Suite struct JobQueueTests {
  @Test func fourJobsRunAtATimeAndTheDrainFinishesAllThatWait() async {
    let dispatcher = Dispatcher(name: "test")
    let (running, most) = (Atomic(0), Atomic(0))
    let videos = startEncoding(dispatcher) { _ in
      most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      await Task.yield()
      running.subtract(1, ordering: .relaxed)
    }
    for video in 0..<100 { videos.dispatch(Encode(video: video)) }
    #expect(await dispatcher.drain().isComplete)
    #expect(videos.model.encoded.count == 100)
    #expect(most.load(ordering: .relaxed) == 4)
  }

  @Test func aJobTooManyIsRefused() async {
    let videos = startEncoding(Dispatcher(name: "test")) { _ in }
    videos.updateModel { $0.unfinished = Set(0..<10_000) }
    await #expect(throws: TooManyJobs.self) { try await videos.send(Encode(video: 10_000)).get() }
  }
}
