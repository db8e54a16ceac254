import DispatchStore
import Foundation
import Testing

@Suite("async", .timeLimit(.minutes(10)))
struct AsyncModeTests {
  @Test(arguments: [1, 2, 3])
  func runsAsManyAtOnceAsTheQueueIsWideAndNoMore(_ width: Int) async {
    let dispatcher = Dispatcher(queue: .wide(width))
    dispatcher.addStage()
    let crowd = Crowd(of: width)
    let ends = Recorder<Int>()
    for index in 0..<(12 * width) {
      // Each thread stays until the crowd is complete, so that the queue must use its full width.
      dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }) { ends.record(index) }
    }
    _ = await ends.first(12 * width)
    #expect(crowd.largest == width)
  }

  @Test func aWidthThatGrowsIsObeyedForWhatIsDispatchedNext() async {
    let dispatcher = Dispatcher(queue: .wide(1))
    dispatcher.addStage()
    _ = await dispatcher.dispatch(action: Script.adds("first")).result
    dispatcher.queue.maxConcurrentOperationCount = 2
    let crowd = Crowd(of: 2)
    let ends = Recorder<Int>()
    for index in 0..<2 {
      dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }) { ends.record(index) }
    }
    _ = await ends.first(2)
    #expect(crowd.largest == 2)
  }

  @Test func oneThatBlocksDelaysOnlyItself() async {
    let dispatcher = Dispatcher(queue: .wide(2))
    dispatcher.addStage()
    let (began, released) = (Latch(), Latch())
    let blocking = dispatcher.dispatch(action: Script.blocks(opening: began, until: released))
    await began.opened()
    for _ in 0..<100 {
      _ = await dispatcher.dispatch(action: Script.adds("other")).result
    }
    #expect(!blocking.hasEnded)
    released.open()
    #expect(await blocking.result.isSuccess)
  }

  @Test func storesThatDoNotWaitForEachOtherRunConcurrently() async {
    let dispatcher = Dispatcher(queue: .wide(2))
    dispatcher.addStage("left")
    dispatcher.addStage("right")
    let crowd = Crowd(of: 2)
    _ = await dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }).result
    #expect(crowd.largest == 2)
  }

  @Test func neverRunsOnTheMainQueue() async {
    let (dispatcher, stage) = makeStage()
    let places = Recorder<Bool>()
    let middleware = RecordingMiddleware(did: { _, _, _ in places.record(Here.isMainQueue) })
    dispatcher.register(middleware: middleware)
    let token = stage.observe(.model) { _ in places.record(Here.isMainQueue) }
    for mode in [Dispatcher.Mode.async, .serial, .serial(lane: "named")] {
      await MainActor.run {
        _ = dispatcher.dispatch(
          action: Script.suspends { store in
            places.record(Here.isMainQueue)
            await Task.yield()
            store.updateModel { $0.append("suspended") }
          }, mode: mode
        ) { places.record(Here.isMainQueue) }
      }
    }
    #expect(await places.first(12) == Array(repeating: false, count: 12))
    token.cancel()
  }
}

/// Blocks threads until `size` of them are in `stay()` at once, and keeps the largest number seen.
final class Crowd: @unchecked Sendable {  // because `condition` guards what changes
  private let condition = NSCondition()
  private let size: Int
  private var present = 0
  private var arrived = 0
  private(set) var largest = 0

  init(of size: Int) {
    self.size = size
  }

  func stay() {
    condition.lock()
    defer { condition.unlock() }
    present += 1
    arrived += 1
    largest = max(largest, present)
    let round = (arrived + size - 1) / size
    condition.broadcast()
    while arrived < round * size { condition.wait() }
    // Gives further threads the time to enter.
    condition.unlock()
    for _ in 0..<8 { sched_yield() }
    condition.lock()
    present -= 1
  }
}
