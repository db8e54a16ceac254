import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// What an action costs in memory while it waits.
enum PendingRows {
  static let all = [
    row("a pending plain reduction") { Fixture(PlainReducer()) },
    row("a pending operation, to be built on its lane") { Fixture(OperationReducer()) },
  ]
  private static let count = 100_000

  /// 100,000 actions of one byte are dispatched to `.serial` behind a suspended queue, without a
  /// completion, their handles dropped at once; the value is what malloc has handed out meanwhile, its
  /// own headers included, divided by their number, less the byte of the action.
  private static func row(
    _ path: String, _ fixture: @escaping @Sendable () -> Fixture<Add>
  ) -> Row {
    Row(path, bound: .bytes(400)) { rounds in
      (0..<min(rounds, 3)).map { _ in Sample(subject: bytes(fixture())) }
    }
  }

  private static func bytes(_ fixture: Fixture<Add>) -> Double {
    fixture.dispatcher.queue.isSuspended = true
    // Objects that are made once, such as the lane's first drainer, do not count.
    dispatch(100, to: fixture.dispatcher)
    let before = Memory.allocatedBytes
    dispatch(count, to: fixture.dispatcher)
    let after = Memory.allocatedBytes
    fixture.dispatcher.queue.isSuspended = false
    let done = DispatchSemaphore(value: 0)
    fixture.dispatcher.dispatch(action: Add(1), mode: .serial) { done.signal() }
    done.wait()
    return Double(after - before) / Double(count) - Double(MemoryLayout<Add>.size)
  }

  private static func dispatch(_ count: Int, to dispatcher: Dispatcher) {
    for index in 0..<count { dispatcher.dispatch(action: Add(index), mode: .serial) }
  }
}
