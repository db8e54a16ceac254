import BenchmarkSupport
import DispatchStore
import Foundation
import Synchronization

/// Something of which a server may have many at once.
enum Limit: String, CaseIterable {
  case waits, children, tokens, stores, sends, synchronous, undos

  var title: String {
    switch self {
    case .waits: "threads that wait for a handle"
    case .children: "child tasks of a block that await a lane"
    case .tokens: "observers that are cancelled"
    case .stores: "stores that come and go"
    case .sends: "blocks, each awaits the next one's `send`"
    case .synchronous: "blocks, each dispatches the next one `.sync`"
    case .undos: "steps of a history on 100,000 rows"
    }
  }

  var count: Int {
    switch self {
    case .waits: 1_000
    case .undos: 10_000
    case .children, .tokens: 100_000
    case .stores: 1_000_000
    case .sends, .synchronous: 4_000
    }
  }

  func run(_ count: Int) async {
    switch self {
    case .waits: await Self.blockThreads(count)
    case .children: await Self.awaitInChildren(count)
    case .tokens: Self.cancelObservers(count)
    case .stores: Self.registerAndUnregister(count)
    case .sends: await Self.nestSends(count)
    case .synchronous: Self.nestSynchronously(count)
    case .undos: await Self.undo(count)
    }
  }

  /// As many lanes, in each of which a block waits for an action on the concurrent queue, all at once.
  private static func blockThreads(_ count: Int) async {
    let fixture = Fixture(WaitingBlock(count))
    let handles = (0..<count).map {
      fixture.dispatcher.dispatch(action: Add(1), mode: .serial(lane: $0))
    }
    for handle in handles { _ = await handle.result }
  }

  private static func awaitInChildren(_ count: Int) async {
    let fixture = Fixture(AwaitingChildren(count))
    await fixture.dispatcher.dispatch(action: Add(1), mode: .serial).ended()
  }

  private static func cancelObservers(_ count: Int) {
    let fixture = Fixture<Add>(PlainReducer())
    let tokens = (0..<count).map { _ in fixture.store.observe(.model) { _ in } }
    for token in tokens { token.cancel() }
  }

  private static func registerAndUnregister(_ count: Int) {
    let dispatcher = Dispatcher()
    for number in 0..<count { ComingAndGoing.visitStore(number, dispatcher) }
  }

  /// Undoes all steps, and does them again.
  private static func undo(_ count: Int) async {
    let table = TrackedTable()
    let history = UndoHistory(of: table.store, limit: count)
    table.change(count, .sync)
    for _ in 0..<count { await history.undo().ended() }
    precondition(!history.canUndo)
    for _ in 0..<count { await history.redo().ended() }
    precondition(!history.canRedo)
  }
}

extension Limit {
  fileprivate static func nestSends(_ count: Int) async {
    let dispatcher = Dispatcher()
    dispatcher.register(
      store: Store(identifier: "nest", model: 0) {
        Perform(Depth.self) { depth, store in
          if depth.left > 0 { await store.dispatcher.send(Depth(left: depth.left - 1)) }
        }
      })
    await dispatcher.send(Depth(left: count))
  }

  /// On a thread with a stack that is large enough.
  fileprivate static func nestSynchronously(_ count: Int) {
    let dispatcher = Dispatcher()
    dispatcher.register(
      store: Store(identifier: "nest", model: 0) {
        Perform(Depth.self) { depth, store in
          guard depth.left > 0 else { return }
          store.dispatcher.dispatch(Depth(left: depth.left - 1), mode: .sync)
        }
      })
    let end = DispatchSemaphore(value: 0)
    let thread = Thread {
      dispatcher.dispatch(action: Depth(left: count), mode: .sync)
      end.signal()
    }
    thread.stackSize = 1 << 30
    thread.start()
    end.wait()
  }
}

private struct Depth: ActionType {
  let left: Int
}

/// Its block waits for a dispatch that ends only once all of the blocks wait.
private final class WaitingBlock: Reducer<Counter, Add> {
  private let gate: BlockGate
  private let other = Dispatcher(name: "other")

  init(_ count: Int) {
    gate = BlockGate(count)
    super.init()
    other.register(store: Store<Counter, Add>(identifier: "held", reducer: HeldReducer(gate)))
  }

  override func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { [gate, other] action, _ in
      let held = other.dispatch(action: action)
      gate.arrive()
      held.wait()
    }
  }
}

/// Opens once so many threads have come.
private final class BlockGate: Sendable {
  private struct State {
    var missing: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(_ count: Int) {
    state = Mutex(State(missing: count))
  }

  func arrive() {
    let waiting = state.withLock { state in
      state.missing -= 1
      return state.missing == 0 ? state.waiting : []
    }
    for continuation in waiting { continuation.resume() }
  }

  func opened() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.missing > 0 { state.waiting.append(continuation) }
        return state.missing == 0
      }
      if isOpen { continuation.resume() }
    }
  }
}

private final class HeldReducer: Reducer<Counter, Add> {
  private let gate: BlockGate

  init(_ gate: BlockGate) {
    self.gate = gate
  }

  override func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { [gate] _, _ in await gate.opened() }
  }
}

/// The children of its block each await a dispatch on another lane.
private final class AwaitingChildren: Reducer<Counter, Add> {
  private let count: Int
  private let inner = Dispatcher(name: "inner")

  init(_ count: Int) {
    self.count = count
    super.init()
    inner.register(store: Store<Counter, Add>(identifier: "inner", reducer: PlainReducer()))
  }

  override func operation(
    for action: Add, in store: Store<Counter, Add>
  ) -> ActionOperation<Counter, Add> {
    ActionOperation(action: action, store: store) { [count, inner] action, _ in
      await withTaskGroup { group in
        for _ in 0..<count {
          group.addTask {
            _ = await inner.dispatch(action: action, mode: .serial(lane: "other")).result
          }
        }
      }
    }
  }
}
