import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// Selectors, and observers of a part.
enum SelectorRows {
  static let all = [hit] + RowObservation.allCases.map(oneRow)

  /// A thread selects the value of a selector that is combined from another one, from a store whose model stays.
  ///
  /// The floor reads a property behind an uncontended `NSLock`: what a program would cache the value in.
  static let hit = Row(
    "`select`, the model has not changed", floor: "property read under a lock", bound: .times(3)
  ) { rounds in
    let ledger = Ledger(rowCount: 10)
    let store = Store(model: ledger, reducer: LedgerReducer())
    let sum = StateSelector.combine(StateSelector(\Ledger.rows)) { rows in
      rows.reduce(0) { $0 + $1.amount }
    }
    let property = LockedProperty(store.select(sum))
    return Rounds.alternate(rounds, count: 100_000) { count in
      for _ in 0..<count where property.value != ledger.rows.count { fatalError("Another value.") }
    } subject: { count in
      for _ in 0..<count where store.select(sum) != ledger.rows.count {
        fatalError("Another value.")
      }
    }
  }

  /// A thread changes one row in each commit, ten rows in turn, of which one is observed.
  ///
  /// The floor is the same with a model of 10 rows: what is more, depends on the size of the model.
  private static func oneRow(_ observation: RowObservation) -> Row {
    Row(
      "a change in one row of 1000000, \(observation.rawValue)", floor: "the same of 10 rows",
      bound: .times(2)
    ) { rounds in
      let small = ObservedLedger(rowCount: 10, observation)
      let large = ObservedLedger(rowCount: 1_000_000, observation)
      return Rounds.alternate(rounds, count: 20_000, floor: small.change, subject: large.change)
    }
  }
}

/// How a row is observed.
private enum RowObservation: String, CaseIterable, Sendable {
  case none = "no observer"
  case inline = "an inline observer of one"
  case queue = "an observer of one on a queue"
}

private struct Ledger: Sendable {
  struct Row: Sendable {
    var amount = 1
    var name = "row"
  }

  var rows: [Row]

  init(rowCount: Int) {
    rows = Array(repeating: Row(), count: rowCount)
  }
}

/// Changes one row.
private struct ChangeRow: ActionType {
  let index: Int
}

private final class LedgerReducer: Reducer<Ledger, ChangeRow> {
  override func reduce(into model: inout Ledger, action: ChangeRow) {
    model.rows[action.index].amount &+= 1
  }
}

/// A ledger, of whose rows one is observed.
private struct ObservedLedger: Sendable {
  private let dispatcher = Dispatcher(name: "ledger")
  private let store: Store<Ledger, ChangeRow>
  private let queue = DispatchQueue(label: "ledger")
  private let token: ObserverToken?
  /// Between two rows that are changed.
  private let stride: Int

  init(rowCount: Int, _ observation: RowObservation) {
    store = dispatcher.register(
      store: Store(model: Ledger(rowCount: rowCount), reducer: LedgerReducer()))
    stride = rowCount / 10
    token =
      switch observation {
      case .none: nil
      case .inline: store.observe(.part(\.rows[0].amount)) { _ in }
      case .queue: store.observe(.part(\.rows[0].amount), on: .queue(queue)) { _ in }
      }
  }

  @Sendable
  func change(_ count: Int) {
    for number in 0..<count {
      store.dispatch(ChangeRow(index: number % 10 * stride), mode: .sync)
    }
    queue.sync {}
  }
}

/// A property behind a lock.
private final class LockedProperty: @unchecked Sendable {  // because `lock` guards `stored`
  private let lock = NSLock()
  private var stored: Int

  init(_ value: Int) {
    stored = value
  }

  var value: Int {
    @inline(never)
    get {
      lock.lock()
      defer { lock.unlock() }
      return stored
    }
  }
}
