import DispatchStore
import DispatchStoreTesting
import Foundation
import Synchronization

/// Threads that a history names as its processes.
enum HistoryProcesses {
  /// Runs a closure on so many threads at once, and returns when all have returned.
  static func run(_ count: Int, _ body: @escaping @Sendable (_ process: String) -> Void) async {
    let start = DispatchSemaphore(value: 0)
    let left = Shared(count)
    // Awaited by a stream, because Thread Sanitizer takes a continuation that is resumed before its
    // task has suspended for a race.
    let (end, ender) = AsyncStream<Never>.makeStream()
    for index in 0..<count {
      Thread {
        start.wait()
        body("p\(index)")
        if left.value.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ender.finish() }
      }.start()
    }
    for _ in 0..<count { start.signal() }
    for await _ in end {}
  }

  private final class Shared: Sendable {
    let value: Atomic<Int>

    init(_ value: Int) {
      self.value = Atomic(value)
    }
  }
}

struct Tally: ModelType, Hashable, CustomStringConvertible {
  var count = 0

  var description: String { "\(count)" }
}

enum TallyAction: ActionType, Hashable {
  case add(Int)
  case double
  /// Adds, then throws.
  case fail(Int)
  /// Adds in two steps, as a block that forgets that others change the model meanwhile.
  case addCarelessly
}

struct TallyFailure: Error, Hashable {}

/// The reducer's answers, and the specification's.
func reduceTally(_ tally: inout Tally, _ action: TallyAction) throws {
  switch action {
  case .add(let amount): tally.count += amount
  case .double: tally.count = tally.count * 2 % 10_007
  case .fail(let amount):
    tally.count += amount
    throw TallyFailure()
  case .addCarelessly: tally.count += 1
  }
}

final class TallyReducer: Reducer<Tally, TallyAction> {
  private let whenRead: @Sendable () -> Void

  /// - Parameter whenRead: Runs between the two steps of a careless addition.
  init(whenRead: @escaping @Sendable () -> Void = {}) {
    self.whenRead = whenRead
  }

  override func operation(
    for action: TallyAction, in store: Store<Tally, TallyAction>
  ) -> ActionOperation<Tally, TallyAction> {
    guard action == .addCarelessly else { return super.operation(for: action, in: store) }
    return ActionOperation(action: action, store: store) { [whenRead] operation, _, store in
      let read = store.model
      whenRead()
      store.updateModel { $0.count = read.count + 1 }
      operation.finish()
    }
  }

  override func reduce(into tally: inout Tally, action: TallyAction) throws {
    try reduceTally(&tally, action)
  }
}

typealias TallyStore = Store<Tally, TallyAction>
typealias TallyRecorder = StoreHistoryRecorder<Tally, TallyAction>

extension History
where Operation == StoreOperation<TallyAction>, Response == StoreResponse<Tally> {
  func check(
    maxSteps: Int = 1_000_000
  ) -> HistoryVerdict<StoreSpecification<Tally, TallyAction>> {
    check(by: \.storeIdentifier, maxSteps: maxSteps) { _ in
      StoreSpecification(model: Tally(), reduce: reduceTally)
    }
  }
}
