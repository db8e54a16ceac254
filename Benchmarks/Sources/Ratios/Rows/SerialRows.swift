import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// `.serial`, pipelined: one thread dispatches and another runs, at most two bursts apart.
///
/// The same gate paces both sides, and the reduction opens it once in 500 actions: no thread waits for a
/// single action, and memory stays bounded. The time goes from the first dispatch to the end of
/// the last reduction. The floors' closures carry the action, take a lock and call the same reducer.
enum SerialRows {
  static let all = [plainReduction, operationToQueue, operation, sequence, taskLocal]
  private static let count = 40 * BurstGate.size

  /// The floor: `DispatchQueue.async` of a closure that makes the same reduction under a lock.
  static let plainReduction = Row(
    "`.serial`, plain reduction, pipelined", floor: "serial DispatchQueue.async", bound: .times(0.6)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    return againstDispatchQueue(rounds) { count in dispatch(count, to: fixture) }
  }

  /// The floor: `addOperation` of such a closure to an `OperationQueue` of width 1.
  static let operationToQueue = Row(
    "`.serial`, real operation, pipelined, to operations",
    floor: "serial OperationQueue", bound: .times(0.12)
  ) { rounds in
    let fixture = Fixture(OperationReducer())
    let gate = BurstGate()
    let counter = LockedCounter(gate: gate)
    let queue = Floors.operationQueue(width: 1)
    return Rounds.alternate(rounds, count: count / 4) { count in
      gate.produce(count) { index in
        let action = Add(index)
        queue.addOperation { counter.reduce(action) }
      }
    } subject: { count in
      dispatch(count, to: fixture)
    }
  }

  /// The floor is the plain reduction's: no operation at all.
  static let operation = Row(
    "`.serial`, real operation, pipelined, to closures",
    floor: "serial DispatchQueue.async", bound: .times(1.4)
  ) { rounds in
    let fixture = Fixture(OperationReducer())
    return againstDispatchQueue(rounds) { count in dispatch(count, to: fixture) }
  }

  /// Sequences of two plain reductions, per action; the floor: the two dispatched one by one.
  static let sequence = Row(
    "`.serial`, a sequence of 2 actions", floor: "one by one", bound: .times(2.5)
  ) { rounds in
    let (single, fixture) = (Fixture(PlainReducer()), Fixture(PlainReducer()))
    return Rounds.alternate(rounds, count: count) { count in
      dispatch(count, to: single)
    } subject: { count in
      let dispatcher = fixture.dispatcher
      fixture.gate.produce(count) { index in
        guard index.isMultiple(of: 2) else { return }
        dispatcher.dispatch(actions: [Add(index), Add(index + 1)], mode: .serial)
      }
    }
  }

  /// With a dispatcher that carries a task-local value, which is bound; the floor: one that carries none.
  static let taskLocal = Row(
    "`.serial`, carrying a task-local value", floor: "without", bound: .times(2.5)
  ) { rounds in
    let plain = Fixture(PlainReducer())
    let carrying = Fixture(PlainReducer(), carrying: [CarriedTaskLocal($request)])
    return $request.withValue(1) {
      Rounds.alternate(rounds, count: count) { count in
        dispatch(count, to: plain)
      } subject: { count in
        dispatch(count, to: carrying)
      }
    }
  }

  @TaskLocal private static var request = 0

  private static func dispatch(_ count: Int, to fixture: Fixture<Add>) {
    let dispatcher = fixture.dispatcher
    fixture.gate.produce(count) { dispatcher.dispatch(action: Add($0), mode: .serial) }
  }

  private static func againstDispatchQueue(
    _ rounds: Int, subject: (_ count: Int) -> Void
  ) -> [Sample] {
    let gate = BurstGate()
    let counter = LockedCounter(gate: gate)
    let queue = Floors.dispatchQueue()
    return Rounds.alternate(rounds, count: count) { count in
      gate.produce(count) { index in
        let action = Add(index)
        queue.async { counter.reduce(action) }
      }
    } subject: { count in
      subject(count)
    }
  }
}
