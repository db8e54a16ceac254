import DispatchStore
import Foundation
import Testing

@Suite("async", .timeLimit(.minutes(10)))
struct AsyncModeTests {
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
    for mode in Dispatcher.Mode.offMainModes {
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
