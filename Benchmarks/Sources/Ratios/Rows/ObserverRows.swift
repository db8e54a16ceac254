import BenchmarkSupport
import DispatchStore

/// What inline observers add to a commit.
enum ObserverRows {
  static let all = [1, 10, 1_000].map(added)

  /// A thread changes the model of a store that has so many observers; the same without any is subtracted.
  ///
  /// The floor calls as many closures with the same body, from an array, each with the model and its version. The fixed
  /// time is for what a first observer brings with it: the change, and the turn in which it is delivered.
  private static func added(_ count: Int) -> Row {
    Row(
      "added to a commit by \(count) inline observer\(count == 1 ? "" : "s")",
      floor: "a loop over closures", bound: .timesPlus(2, nanoseconds: 150)
    ) { rounds in
      let (observed, plain) = (ObservedCounter(observers: count), ObservedCounter(observers: 0))
      let closures = Closures(count: count)
      let observedCount = Rounds.enough(1_000, observed.change)
      let plainCount = Rounds.enough(1_000, plain.change)
      let closureCount = Rounds.enough(1_000, closures.call)
      return Rounds.alternate(rounds) {
        time(closureCount, closures.call)
      } subject: {
        time(observedCount, observed.change) - time(plainCount, plain.change)
      }
    }
  }

  private static func time(_ count: Int, _ side: (Int) -> Void) -> Double {
    Stopwatch.nanoseconds { side(count) } / Double(count)
  }
}

/// What the observers and the closures write to, on one thread.
private final class Sum: @unchecked Sendable {  // because one thread uses it
  @exclusivity(unchecked) private var value: UInt64 = 0

  func add(_ count: Int, _ version: UInt64) {
    value &+= UInt64(truncatingIfNeeded: count) &+ version
  }
}

private enum NoAction: ActionType { case none }

private struct ObservedCounter {
  private let store = Store<Int, NoAction>(model: 0, reducer: Reducer())
  private let tokens: [ObserverToken]

  init(observers: Int) {
    let (store, sum) = (store, Sum())
    tokens = (0..<observers).map { _ in store.observe(.model) { sum.add($0.value, $0.version) } }
  }

  func change(_ count: Int) {
    for _ in 0..<count { store.updateModel { $0 &+= 1 } }
  }
}

private struct Closures {
  /// In a structure, so that the array has it as a function of these types, which is called without a thunk.
  private struct Closure {
    let body: (_ model: Int, _ version: UInt64) -> Void
  }

  private let all: [Closure]

  init(count: Int) {
    let sum = Sum()
    all = (0..<count).map { _ in Closure { sum.add($0, $1) } }
  }

  @inline(never)
  func call(_ count: Int) {
    for index in 0..<count {
      for closure in all { closure.body(index, UInt64(index)) }
    }
  }
}
