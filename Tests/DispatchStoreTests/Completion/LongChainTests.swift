import DispatchStore
import Foundation
import Testing

@Suite("Long chains by completion", .serialized, .timeLimit(.minutes(10)))
struct LongChainTests {
  let dispatcher = Dispatcher()
  let stage: CounterStore

  init() {
    stage = dispatcher.register(store: .counter("counter"))
  }

  /// `DISPATCHSTORE_LONG=1` sets the full length.
  private static func length(_ mode: Dispatcher.Mode) -> Int {
    switch mode {
    // Each link runs inside the one before: the caller decides how deep its stack gets. Thread Sanitizer needs more of it.
    case .sync: Load.count(1_000)
    case .serial: Load.count(100_000, long: 1_000_000)
    default: Load.count(10_000, long: 100_000)
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func runToTheirEnd(_ mode: Dispatcher.Mode) async {
    let (dispatcher, ended, length) = (dispatcher, Latch(), Self.length(mode))
    @Sendable func link(_ left: Int) {
      guard left > 0 else { return ended.open() }
      dispatcher.dispatch(action: CounterAction.add(1), mode: mode) { link(left - 1) }
    }
    await onOwnThread { link(length) }
    await ended.opened()
    #expect(stage.model.count == length)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func needNoMoreStackHoweverLongTheyAre(_ mode: Dispatcher.Mode, isFromInside: Bool) async {
    let (dispatcher, ended, depths) = (dispatcher, Latch(), StackDepths())
    dispatcher.addStage()
    @Sendable func link(_ left: Int) {
      depths.note()
      guard left > 0 else { return ended.open() }
      if isFromInside {
        dispatcher.dispatch(action: Script.runs { _ in link(left - 1) }, mode: mode)
      } else {
        dispatcher.dispatch(action: CounterAction.add(1), mode: mode) { link(left - 1) }
      }
    }
    await onOwnThread { link(Load.count(5_000)) }
    await ended.opened()
    #expect(depths.largestSpan < 256 * 1_024)
  }

  @Test func acrossLanesRunToTheirEnd() async {
    let (dispatcher, ended) = (dispatcher, Latch())
    @Sendable func link(_ left: Int) {
      guard left > 0 else { return ended.open() }
      let mode = Dispatcher.Mode.serial(lane: left % 3)
      dispatcher.dispatch(action: CounterAction.add(1), mode: mode) { link(left - 1) }
    }
    let length = Load.count(10_000)
    link(length)
    await ended.opened()
    #expect(stage.model.count == length)
  }

  @Test(arguments: [Dispatcher.Mode.serial, .serial(lane: "named"), .mainThread])
  func keepTheOrderOfTheirLaneAmongOtherDispatches(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), Recorder<Int>())
    dispatcher.addStage()
    // Links are even; each dispatches an odd action before its completion dispatches the next link.
    @Sendable func link(_ index: Int) {
      guard index < 4_000 else { return }
      let script = Script.runs { _ in
        log.record(index)
        dispatcher.dispatch(action: Script.runs { _ in log.record(index + 1) }, mode: mode)
      }
      dispatcher.dispatch(action: script, mode: mode) { link(index + 2) }
    }
    link(0)
    #expect(await log.first(4_000) == Array(0..<4_000))
  }
}

/// For each thread, the range of stack addresses that `note()` was called from.
private final class StackDepths: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private var ranges: [Int: ClosedRange<UInt>] = [:]

  var largestSpan: UInt {
    lock.withLock { ranges.values.map { $0.upperBound - $0.lowerBound }.max() ?? 0 }
  }

  @inline(never)
  func note() {
    var local = 0
    let address = withUnsafeMutablePointer(to: &local) { UInt(bitPattern: $0) }
    let thread = Here.thread
    lock.withLock {
      let range = ranges[thread] ?? address...address
      ranges[thread] = min(range.lowerBound, address)...max(range.upperBound, address)
    }
  }
}
