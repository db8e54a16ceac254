import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation
import Synchronization

/// A producer that is a hundred times faster than the consumer, under each overflow policy of a limit of 1,000, and
/// without a limit: what the process grows by.
///
/// The consumer ends an action in a millisecond on average, by a block that sleeps; the producer dispatches 100 in that
/// time, where it does not have to wait.
enum Overflow: String, CaseIterable {
  case reject, dropNewest, dropOldest, blocks, suspends, unlimited

  var title: String {
    switch self {
    case .reject: "rejected"
    case .dropNewest: "the newest dropped"
    case .dropOldest: "the oldest dropped"
    case .blocks: "the thread blocks"
    case .suspends: "8 tasks that send suspend"
    case .unlimited: "no limit"
    }
  }

  private var policy: DispatchLimit.Overflow? {
    switch self {
    case .reject: .reject
    case .dropNewest: .dropNewest
    case .dropOldest: .dropOldest
    case .blocks, .suspends: .wait
    case .unlimited: nil
    }
  }

  /// What of a run is of interest.
  struct Statistics {
    var produced = 0
    var consumed = 0
    var sizes: [Double] = []
  }

  /// - Parameters:
  ///   - isStalled: Whether the consumer ends nothing before the time has passed.
  ///   - size: The size of the process.
  func run(seconds: Double, isStalled: Bool, _ size: () -> Double) async -> Statistics {
    let slow = SlowReducer(isStalled ? .seconds(seconds) : .milliseconds(1))
    let fixture = Fixture(slow)
    let limit = policy.map { DispatchLimit(1_000, overflow: $0) }
    let options = limit.map { DispatchOptions.limited(by: $0) } ?? []
    let (produced, isOver) = (Counting(), Counting())
    let dispatcher = fixture.dispatcher
    let before = size()
    let end = DispatchGroup()
    if self == .suspends {
      for _ in 0..<8 {
        end.enter()
        Task {
          while isOver.count == 0 {
            produced.add()
            await dispatcher.send(Add(1), mode: .serial, options: options)
          }
          end.leave()
        }
      }
    } else {
      end.enter()
      Thread.detachNewThread {
        Self.produce(until: isOver, produced) {
          dispatcher.dispatch(action: Add(1), mode: .serial, options: options)
        }
        end.leave()
      }
    }
    var figures = Statistics()
    for part in [0.1, 0.4, 0.5] {
      try? await Task.sleep(for: .seconds(seconds * part))
      figures.sizes.append(size() - before)
    }
    isOver.add()
    (figures.produced, figures.consumed) = (produced.count, slow.consumed.count)
    return figures
  }

  /// A hundred every millisecond.
  private static func produce(until isOver: Counting, _ produced: Counting, _ one: () -> Void) {
    let began = DispatchTime.now().uptimeNanoseconds
    while isOver.count == 0 {
      let due = Int((DispatchTime.now().uptimeNanoseconds - began) / 10_000)
      while produced.count < due, isOver.count == 0 {
        produced.add()
        one()
      }
      usleep(1_000)
    }
  }
}

/// Its operations take a while, without a thread.
private final class SlowReducer: Reducer<Counter, Add> {
  let consumed = Counting()
  private let time: Duration

  init(_ time: Duration) {
    self.time = time
  }

  override func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { [consumed, time] _, _ in
      try await Task.sleep(for: time)
      consumed.add()
    }
  }
}

private final class Counting: Sendable {
  private let value = Atomic(0)

  var count: Int { value.load(ordering: .relaxed) }

  func add() {
    value.wrappingAdd(1, ordering: .relaxed)
  }
}
