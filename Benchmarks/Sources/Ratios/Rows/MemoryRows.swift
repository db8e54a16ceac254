import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// What pending actions, stores, lanes and threads cost in memory: what malloc has handed out for them, its headers included.
enum MemoryRows {
  static let all = [
    pending("a pending plain reduction") { Fixture(PlainReducer()) },
    pending("a pending operation, to be built on its lane") { Fixture(OperationReducer()) },
    store, lane, thread,
  ]
  private static let count = 100_000

  /// 100,000 actions of one byte, dispatched to `.serial` behind a suspended queue without a completion, their handles dropped
  /// at once; less the byte of the action.
  private static func pending(
    _ path: String, _ fixture: @escaping @Sendable () -> Fixture<Add>
  ) -> Row {
    row(path, atMost: 400) {
      let dispatcher = fixture().dispatcher
      func dispatch(_ count: Int) {
        for index in 0..<count { dispatcher.dispatch(action: Add(index), mode: .serial) }
      }
      dispatcher.queue.isSuspended = true
      // Objects that are made once, such as the lane's first drainer, do not count.
      dispatch(100)
      let bytes = growth(per: count) { dispatch(count) }
      dispatcher.queue.isSuspended = false
      let done = DispatchSemaphore(value: 0)
      dispatcher.dispatch(action: Add(1), mode: .serial) { done.signal() }
      done.wait()
      return bytes - Double(MemoryLayout<Add>.size)
    }
  }

  /// 100,000 stores of one action type, by the identifiers "account 0" and on; with their models and reducers.
  private static let store = row("a registered store", atMost: 1_000) {
    let dispatcher = Dispatcher(name: "memory")
    return growth(per: count) {
      for index in 0..<count {
        dispatcher.register(
          store: Store(identifier: Town.name(index), model: Counter(), reducer: PlainReducer()))
      }
    }
  }

  /// 100,000 lanes, each with a plain reduction behind a suspended queue.
  private static let lane = row("a lane with a pending action", atMost: 900) {
    let fixture = Fixture(PlainReducer())
    fixture.dispatcher.queue.isSuspended = true
    let bytes = growth(per: count) {
      for index in 0..<count {
        fixture.dispatcher.dispatch(action: Add(index), mode: .serial(lane: index))
      }
    }
    fixture.dispatcher.queue.isSuspended = false
    fixture.gate.wait(forAll: count)
    return bytes
  }

  /// 64 threads, each of which has visited 1,000 stores; less what the threads had before.
  private static let thread = row("a thread that has dispatched to 1000 stores", atMost: 640_000) {
    let (threads, visits) = (64, StoreVisits.byIdentifier(Town(of: 1_000)))
    let (ready, start, done, end) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0),
      DispatchSemaphore(value: 0)
    )
    for _ in 0..<threads {
      let thread = Thread {
        ready.signal()
        start.wait()
        visits(1_000)
        done.signal()
        end.wait()
      }
      thread.start()
    }
    for _ in 0..<threads { ready.wait() }
    let bytes = growth(per: threads) {
      for _ in 0..<threads { start.signal() }
      for _ in 0..<threads { done.wait() }
    }
    for _ in 0..<threads { end.signal() }
    return bytes
  }

  private static func row(
    _ path: String, atMost bytes: Double, _ measure: @escaping @Sendable () -> Double
  ) -> Row {
    Row(path, bound: .bytes(bytes)) { rounds in
      (0..<min(rounds, 3)).map { _ in Sample(subject: measure()) }
    }
  }

  private static func growth(per count: Int, _ make: () -> Void) -> Double {
    let before = Memory.allocatedBytes
    make()
    return Double(Memory.allocatedBytes - before) / Double(count)
  }
}
