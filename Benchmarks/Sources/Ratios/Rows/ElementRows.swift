import BenchmarkSupport
import Dispatch
import DispatchStore

/// Observers of single elements of a tracked collection, and what the collection's size adds to a commit.
enum ElementRows {
  static let all = [observed(.inline), observed(.onQueue)] + Observation.allCases.map(size)

  /// How one row is observed.
  private enum Observation: String, CaseIterable, Sendable {
    case none = "no observer"
    case inline = "an inline observer"
    case onQueue = "an observer on a queue"
  }

  private enum Change: ActionType { case none }

  private struct Table: Sendable {
    var rows: TrackedDictionary<Int, Int>
  }

  /// 10,000 elements with an observer each: a thread changes one of them after the other.
  ///
  /// The floor: a tracked collection of the same size, of which ten elements have an observer each, and are changed in turn.
  /// Both sides change ten elements: what more of them cost in the processor's caches is not the library's.
  private static func observed(_ observation: Observation) -> Row {
    Row(
      "a commit, 10,000 elements with \(observation.rawValue)", floor: "10 elements with one",
      bound: .times(2)
    ) { rounds in
      let (few, many) = (Fixture(of: 10_000), Fixture(of: 10_000))
      let keys = (0..<10).map { $0 * 997 }
      let tokens =
        keys.map { few.observe($0, observation) }
        + (0..<10_000).map { many.observe($0, observation) }
      return withExtendedLifetime(tokens) {
        Rounds.alternate(rounds, count: 1_000) {
          few.change($0, keys, observation)
        } subject: {
          many.change($0, keys, observation)
        }
      }
    }
  }

  /// A model of 1,000,000 rows: a thread changes one row, again and again.
  ///
  /// The floor: the same in a model of 10 rows.
  private static func size(_ observation: Observation) -> Row {
    Row(
      "a commit to 1,000,000 rows, \(observation.rawValue)", floor: "10 rows", bound: .times(2)
    ) { rounds in
      let (small, large) = (Fixture(of: 10), Fixture(of: 1_000_000))
      let tokens = [small.observe(5, observation), large.observe(500_000, observation)]
      return withExtendedLifetime(tokens) {
        Rounds.alternate(rounds, count: 1_000) {
          small.change($0, [5], observation)
        } subject: {
          large.change($0, [500_000], observation)
        }
      }
    }
  }

  private struct Fixture: Sendable {
    let store: Store<Table, Change>
    private let queue = DispatchQueue(label: "elements")
    private let calls = DispatchSemaphore(value: 0)

    init(of size: Int) {
      let rows = TrackedDictionary(uniqueKeysWithValues: (0..<size).map { ($0, 0) })
      store = Store(model: Table(rows: rows), reducer: Reducer())
    }

    func observe(_ key: Int, _ observation: Observation) -> ObserverToken? {
      switch observation {
      case .none: return nil
      case .inline: return store.observe(.element(\.rows, key)) { _ in }
      case .onQueue:
        let calls = calls
        return store.observe(.element(\.rows, key), on: .queue(queue)) { _ in calls.signal() }
      }
    }

    /// Changes so many times one of the rows; returns when the queue has delivered all.
    func change(_ count: Int, _ keys: [Int], _ observation: Observation) {
      var index = 0
      for _ in 0..<count {
        store.updateModel { $0.rows[keys[index]]? &+= 1 }
        index = index + 1 == keys.count ? 0 : index + 1
      }
      if observation == .onQueue { for _ in 0..<count { calls.wait() } }
    }
  }
}
