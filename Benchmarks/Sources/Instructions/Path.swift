import BenchmarkSupport
import DispatchStore
import DispatchStoreTesting
import Foundation

/// A way through the library, run so that two runs take nearly the same instructions.
struct Path: Sendable {
  let name: String
  /// Sets up a dispatcher, and dispatches so many actions.
  let run: @Sendable (_ count: Int) -> Void

  static let all = [
    Path(name: "sync-reduction") { sync($0, Fixture(PlainReducer())) },
    Path(name: "sync-application") { sync($0, Fixture(ApplyingReducer())) },
    Path(name: "sync-operation") { sync($0, Fixture(OperationReducer())) },
    Path(name: "sync-controlled-operation") { sync($0, Fixture(ControlledReducer())) },
    Path(name: "serial-reduction") { pending($0, Fixture(PlainReducer()), .serial) },
    Path(name: "serial-operation") { pending($0, Fixture(OperationReducer()), .serial) },
    Path(name: "serial-deadline") {
      pending($0, Fixture(PlainReducer()), .serial, .timeout(.seconds(3_600)))
    },
    Path(name: "async-reduction") { pending($0, Fixture(PlainReducer(), width: 1), .async) },
    Path(name: "async-operation") { pending($0, Fixture(OperationReducer(), width: 1), .async) },
    Path(name: "async-stores", run: severalStores),
    Path(name: "chain", run: chain),
    Path(name: "wait-for-10", run: waitForTen),
    Path(name: "observed", run: observed),
    Path(name: "middleware") { sync($0, middlewareFixture()) },
    Path(name: "serial-middleware") { pending($0, middlewareFixture(), .serial) },
    Path(name: "weak-store") { sync($0, Fixture(PlainReducer(), ownership: .weak)) },
    Path(name: "refined-wait-for", run: refinedWaitFor),
    Path(name: "task-local", run: carryingATaskLocal),
    Path(name: "recorder", run: { recorded($0, by: RecorderMiddleware()) }),
    Path(name: "appending", run: { recorded($0, by: AppendingMiddleware()) }),
    Path(name: "dispatch-recorder", run: { recorded($0, by: DispatchRecorder(limit: 1_000)) }),
    Path(name: "table") { TrackedTable().change($0, .sync) },
    Path(name: "table-undo") { count in
      let table = TrackedTable()
      withExtendedLifetime(UndoHistory(of: table.store, limit: 500)) { table.change(count, .sync) }
    },
    Path(name: "sync-sequence") { sequences($0, Fixture(PlainReducer())) },
    Path(name: "serial-sequence") { pendingSequences($0, Fixture(PlainReducer())) },
    Path(name: "send-reduction") { TaskCalls.send(Fixture(PlainReducer()))($0) },
    Path(name: "send-middleware") { TaskCalls.send(middlewareFixture(), inLane: false)($0) },
    Path(name: "send-timeout") {
      TaskCalls.send(Fixture(PlainReducer()), options: Controls.timeout)($0)
    },
    Path(name: "send-controls") {
      TaskCalls.send(Fixture(PlainReducer()), options: Controls.all)($0)
    },
    Path(name: "send-key") {
      TaskCalls.send(Fixture(PlainReducer()), options: Controls.newKey)($0)
    },
    Path(name: "send-block") { TaskCalls.send(Fixture(YieldingReducer()))($0) },
    Path(name: "send-stores") { TaskCalls.sendToStores(4)($0) },
    Path(name: "actor-block") { TaskCalls.yieldingActor()($0) },
    Path(name: "actor-stores") { TaskCalls.actors(4)($0) },
  ]

  @TaskLocal private static var request = 0

  /// Dispatches on the calling thread, one after the other.
  private static func sync(_ count: Int, _ fixture: Fixture<Add>) {
    for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
  }

  /// Dispatches in bursts while the queue is suspended, and then runs each: within a burst no thread spins
  /// or is woken, so the interleaving of the threads hardly shows.
  ///
  /// Rounds `count` up to whole bursts.
  private static func pending(
    _ count: Int, _ fixture: Fixture<Add>, _ mode: Dispatcher.Mode,
    _ options: @autoclosure () -> DispatchOptions = []
  ) {
    for start in stride(from: 0, to: count, by: BurstGate.size) {
      fixture.dispatcher.queue.isSuspended = true
      for index in start..<(start + BurstGate.size) {
        fixture.dispatcher.dispatch(action: Add(index), mode: mode, options: options())
      }
      fixture.dispatcher.queue.isSuspended = false
      fixture.gate.wait(forAll: BurstGate.size)
    }
  }

  /// Each completion dispatches the next action to the lane it runs on.
  private static func chain(_ count: Int) {
    let dispatcher = Fixture(PlainReducer()).dispatcher
    let chain = Chain(count) { chain, left in
      dispatcher.dispatch(action: Add(left), mode: .serial) { chain.next() }
    }
    chain.run()
  }

  /// Ten stores respond to each action, each waiting for the one before it.
  private static func waitForTen(_ count: Int) {
    let dispatcher = Dispatcher(name: "ten stores")
    var previous: [String] = []
    for _ in 0..<10 {
      let store = dispatcher.register(
        store: Store(reducer: PlainReducer()), waitFor: WaitFor(previous))
      previous = [store.identifier]
    }
    for index in 0..<count { dispatcher.dispatch(action: Add(index), mode: .sync) }
  }

  /// Lists of two actions.
  private static func sequences(_ count: Int, _ fixture: Fixture<Add>) {
    for index in 0..<count / 2 {
      fixture.dispatcher.dispatch(actions: [Add(index), Add(index)], mode: .sync)
    }
  }

  /// The same, pending in a lane.
  private static func pendingSequences(_ count: Int, _ fixture: Fixture<Add>) {
    for start in stride(from: 0, to: count, by: BurstGate.size) {
      fixture.dispatcher.queue.isSuspended = true
      for index in stride(from: start, to: start + BurstGate.size, by: 2) {
        fixture.dispatcher.dispatch(actions: [Add(index), Add(index + 1)], mode: .serial)
      }
      fixture.dispatcher.queue.isSuspended = false
      fixture.gate.wait(forAll: BurstGate.size)
    }
  }

  private static func observed(_ count: Int) {
    let fixture = Fixture(PlainReducer())
    let token = fixture.store.observe(.model) { _ in }
    sync(count, fixture)
    token.cancel()
  }

  private static func middlewareFixture() -> Fixture<Add> {
    let fixture = Fixture(PlainReducer())
    fixture.dispatcher.register(middleware: PassingMiddleware())
    return fixture
  }

  /// Two stores respond to each action; for each, the reducer of one says that it waits for the other.
  private static func refinedWaitFor(_ count: Int) {
    let fixture = Fixture(PlainReducer())
    let waiting = Store(reducer: WaitingReducer(for: fixture.store.identifier))
    fixture.dispatcher.register(store: waiting)
    sync(count, fixture)
  }

  private static func carryingATaskLocal(_ count: Int) {
    let fixture = Fixture(PlainReducer(), carrying: [CarriedTaskLocal($request)])
    pending(count, fixture, .serial)
  }

  private static func recorded(_ count: Int, by middleware: any Middleware) {
    let fixture = Fixture(PlainReducer())
    fixture.dispatcher.register(middleware: middleware)
    sync(count, fixture)
  }

  /// Four stores respond to each action, one of them with an operation, for which another one waits.
  private static func severalStores(_ count: Int) {
    let fixture = Fixture(PlainReducer(), width: 1)
    let operation = fixture.dispatcher.register(store: Store(reducer: OperationReducer()))
    fixture.dispatcher.register(store: Store(reducer: PlainReducer()))
    fixture.dispatcher.register(
      store: Store(reducer: PlainReducer()), waitFor: WaitFor([operation.identifier]))
    pending(count, fixture, .async)
  }
}
