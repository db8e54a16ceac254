import DispatchStore
import Synchronization

/// An operation in a recorder's list.
final class HistoryEntry<Operation: Sendable, Response: Equatable & Sendable>: @unchecked Sendable {
  // because `older` is written before the entry is published, and `response` by the thread that claimed the end,
  // before `ending` publishes it
  private let operation: Operation
  private let process: String
  private let call = Atomic(0)
  /// A value of `Ending`, or the stamp of the return.
  private let ending = Atomic(Ending.pending)
  private var response: Response?
  /// The entry that was recorded before this one.
  var older: Unmanaged<HistoryEntry>?

  init(_ operation: Operation, _ process: String) {
    self.operation = operation
    self.process = process
  }

  func begin(at stamp: Int) {
    call.store(stamp, ordering: .releasing)
  }

  func end(at stamp: Int, _ response: Response) {
    claim()
    self.response = response
    ending.store(stamp, ordering: .releasing)
  }

  func withdraw() {
    claim()
    ending.store(Ending.withdrawn, ordering: .releasing)
  }

  /// The operation, or nil if it has no stamp yet or was withdrawn.
  var recorded: RecordedOperation<Operation, Response>? {
    let call = call.load(ordering: .acquiring)
    let ending = ending.load(ordering: .acquiring)
    guard call > 0, ending != Ending.withdrawn else { return nil }
    return RecordedOperation(
      process: process, operation: operation, callStamp: call,
      returned: ending > 0 ? .init(stamp: ending, response: response!) : nil)
  }

  private func claim() {
    let (isClaimed, _) = ending.compareExchange(
      expected: Ending.pending, desired: Ending.claimed, ordering: .acquiringAndReleasing)
    if !isClaimed {
      stopProgram(
        """
        The end of \(operation) on \(process) was recorded twice. An operation returns, or is \
        withdrawn, once.
        """)
    }
  }
}

/// Values of `ending` that are not stamps.
private enum Ending {
  static let pending = 0
  static let claimed = -1
  static let withdrawn = -2
}
