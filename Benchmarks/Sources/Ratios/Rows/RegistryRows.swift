import BenchmarkSupport
import DispatchStore

/// Many registered stores.
enum RegistryRows {
  static let all = modes.map(byType) + modes.map(byIdentifier) + [registering, linear]

  private static let modes: [Dispatcher.Mode] = [
    .sync, .serial, .serial(lane: "lane"), .async, .mainThread,
  ]
  private static let count = 10 * BurstGate.size

  // Shared by the modes: filling them takes longer than measuring.
  private static let one = Population(of: 1)
  private static let ofOtherTypes = Population(of: Population.size)
  private static let ofSameType = Population(of: Population.size, sharingType: true)

  /// A thread dispatches plain reductions, paced by bursts, to the only store of its action's type,
  /// beside 99,999 stores that respond to eight other types.
  ///
  /// The floor is the same loop, in the same mode, with a dispatcher that has this one store.
  private static func byType(_ mode: Dispatcher.Mode) -> Row {
    Row("100,000 stores, by type, `.\(mode)`", floor: "one store", bound: .times(1.5)) { rounds in
      let (one, many) = (one, ofOtherTypes)
      return Rounds.alternate(rounds, count: count) { count in
        one.gate.produce(count) { one.dispatcher.dispatch(action: Add($0), mode: mode) }
      } subject: { count in
        many.gate.produce(count) { many.dispatcher.dispatch(action: Add($0), mode: mode) }
      }
    }
  }

  /// The same through the store, so to it alone, though 50,000 others respond to its action's type too.
  private static func byIdentifier(_ mode: Dispatcher.Mode) -> Row {
    Row("100,000 stores, by identifier, `.\(mode)`", floor: "one store", bound: .times(1.5)) {
      rounds in
      let (one, many) = (one, ofSameType)
      return Rounds.alternate(rounds, count: count) { count in
        one.gate.produce(count) { one.store.dispatch(Add($0), mode: mode) }
      } subject: { count in
        many.gate.produce(count) { many.store.dispatch(Add($0), mode: mode) }
      }
    }
  }

  /// A thread registers 100,000 stores, made before, while another dispatches without a pause.
  ///
  /// No floor: the value is the registering thread's time, in seconds.
  private static let registering = Row("registering 100,000 stores", bound: .seconds(1)) { rounds in
    registrations(rounds).map { Sample(subject: ($0.first + $0.second) / 1e9) }
  }

  /// The second half's time against the first half's: 1 where registering is linear, 3 where it is
  /// quadratic.
  private static let linear = Row(
    "registering 100,000 stores, second half", floor: "first half", bound: .times(1.3)
  ) { rounds in
    let each = Double(Registration.size / 2)
    return registrations(rounds).map { Sample(subject: $0.second / each, floor: $0.first / each) }
  }

  private static func registrations(_ rounds: Int) -> [Registration] {
    Array((0...min(rounds, 5)).map { _ in Registration() }.dropFirst())
  }
}
