import BenchmarkSupport
import Dispatch
import Foundation

/// The floors, with which everything else is compared.
enum FloorSuite {
  static func register() {
    measure("floor: lock around the reduction") {
      LockedCounter()
    } batch: { counter, count in
      for index in 0..<count { counter.reduce(Add(index)) }
    }
    measure("floor: creating an Operation") {
    } batch: { _, count in
      for _ in 0..<count { Floors.createOperation() }
    }
    measure("floor: inline Operation.start()") {
      LockedCounter()
    } batch: { counter, count in
      for index in 0..<count {
        let action = Add(index)
        Floors.startOperation { counter.reduce(action) }
      }
    }
    measure("floor: serial DispatchQueue.async", setup: Gated.init) { gated, count in
      let queue = Floors.dispatchQueue()
      gated.gate.produce(count) { index in
        let action = Add(index)
        queue.async { gated.counter.reduce(action) }
      }
    }
    for width in Set([1, ProcessInfo.processInfo.activeProcessorCount]).sorted() {
      measure("floor: OperationQueue of width \(width)", setup: Gated.init) { gated, count in
        let queue = Floors.operationQueue(width: width)
        gated.gate.produce(count) { index in
          let action = Add(index)
          queue.addOperation { gated.counter.reduce(action) }
        }
      }
    }
    measureAsync("floor: await an actor") {
      CounterActor()
    } batch: { actor, count in
      for index in 0..<count { await actor.reduce(Add(index)) }
    }
  }

  /// A counter that paces its producer.
  private struct Gated: Sendable {
    let gate: BurstGate
    let counter: LockedCounter

    init() {
      gate = BurstGate()
      counter = LockedCounter(gate: gate)
    }
  }
}
