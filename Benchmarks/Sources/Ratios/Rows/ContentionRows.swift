import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// Many producers.
enum ContentionRows {
  static let all = [producers, stores]

  /// 64 threads dispatch plain reductions to the default lane, none waiting for any; the time goes
  /// from their common start until all have run, for which a last dispatch with a completion stands.
  ///
  /// The floor is one thread that dispatches as many in all. Neither side is paced.
  static let producers = Row(
    "64 producers, `.serial`, per action", floor: "one producer", bound: .times(2)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    return Rounds.alternate(rounds) {
      time(producers: 1, on: fixture.dispatcher)
    } subject: {
      time(producers: 64, on: fixture.dispatcher)
    }
  }

  private static func time(producers: Int, on dispatcher: Dispatcher) -> Double {
    let each = 65_536 / producers
    let nanoseconds = Producers.nanoseconds(producers) { _ in
      for index in 0..<each { dispatcher.dispatch(action: Add(index), mode: .serial) }
    } end: {
      let done = DispatchSemaphore(value: 0)
      dispatcher.dispatch(action: Add(1), mode: .serial) { done.signal() }
      done.wait()
    }
    return nanoseconds / Double(each * producers)
  }

  /// 8 threads dispatch plain reductions, `.sync`, each to a separate store and action type, all with
  /// one dispatcher: the threads share no model.
  ///
  /// The floor is one thread and one store, with a separate dispatcher. The 8 threads have at most 8
  /// processors, so what an action costs is the time times those, divided by all actions.
  static let stores = Row(
    "8 stores, 8 producers, `.sync`, per action per core", floor: "one store, one producer",
    bound: .times(1.5)
  ) { rounds in
    let one = TaggedFixture(stores: 1)
    let eight = TaggedFixture(stores: 8)
    return Rounds.alternate(rounds, floor: { time(one) }, subject: { time(eight) })
  }

  private static func time(_ fixture: TaggedFixture) -> Double {
    let threads = fixture.producers.count
    let each = 160_000 / threads
    let processors = min(threads, ProcessInfo.processInfo.activeProcessorCount)
    let nanoseconds = Producers.nanoseconds(threads) { fixture.producers[$0](each, .sync) }
    return nanoseconds * Double(processors) / Double(each * threads)
  }
}
