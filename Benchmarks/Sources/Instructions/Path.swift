import BenchmarkSupport
import DispatchStore
import Foundation

/// A way through the library, run so that two runs take nearly the same instructions.
struct Path: Sendable {
  let name: String
  /// Sets up a dispatcher, and dispatches so many actions.
  let run: @Sendable (_ count: Int) -> Void

  static let all = [
    Path(name: "sync-reduction") { sync($0, Fixture(PlainReducer())) },
    Path(name: "sync-operation") { sync($0, Fixture(OperationReducer())) },
    Path(name: "serial-reduction") { pending($0, Fixture(PlainReducer()), .serial) },
    Path(name: "serial-operation") { pending($0, Fixture(OperationReducer()), .serial) },
    Path(name: "async-reduction") { pending($0, Fixture(PlainReducer(), width: 1), .async) },
    Path(name: "middleware") { count in
      let fixture = Fixture(PlainReducer())
      fixture.dispatcher.register(middleware: PassingMiddleware())
      sync(count, fixture)
    },
    Path(name: "send-reduction") { TaskCalls.send(Fixture(PlainReducer()))($0) },
    Path(name: "send-block") { TaskCalls.send(Fixture(YieldingReducer()))($0) },
  ]

  /// Dispatches on the calling thread, one after the other.
  private static func sync(_ count: Int, _ fixture: Fixture<Add>) {
    for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
  }

  /// Dispatches in bursts while the queue is suspended, and then runs each: within a burst no thread spins
  /// or is woken, so the interleaving of the threads hardly shows.
  ///
  /// Rounds `count` up to whole bursts.
  private static func pending(_ count: Int, _ fixture: Fixture<Add>, _ mode: Dispatcher.Mode) {
    for start in stride(from: 0, to: count, by: BurstGate.size) {
      fixture.dispatcher.queue.isSuspended = true
      for index in start..<(start + BurstGate.size) {
        fixture.dispatcher.dispatch(action: Add(index), mode: mode)
      }
      fixture.dispatcher.queue.isSuspended = false
      fixture.gate.wait(forAll: BurstGate.size)
    }
  }
}
