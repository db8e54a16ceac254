import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// A dispatcher that nothing refers to but its work: a task that waits for a key has a lane, and others wait behind it.
  static let releasedDispatchers = Scenario(
    name: "released-dispatchers", summary: "a dispatcher lives until all of its work has ended"
  ) { dispatcher, simulation in
    let (alive, orphans) = (Shared([Int]()), Shared([Int]()))
    await { @Sendable () -> Void in
      let other = simulation.makeDispatcher(name: "other")
      // Notes whether the dispatcher of its store is there.
      let note: @Sendable (Chore, Store<Journal, Chore>) -> Void = { chore, store in
        (store.dispatcher == nil ? orphans : alive).append(chore.number)
      }
      other.makeStore("chores", of: Chore.self) { action, store in
        if action.number > 1 {
          return ActionOperation(action: action, store: store) { action, store in
            note(action, store)
          }
        }
        return ActionOperation(action: action, store: store) { action, store async in
          for _ in 0..<3 { await Task.yield() }
          note(action, store)
        }
      }
      let mode = Dispatcher.Mode.serial(lane: "a")
      await withTaskGroup { group in
        // In a task, so that no thread of the pool refers to the dispatcher.
        group.addTask { await other.send(Chore(number: 1), options: .exclusive("key")).isSuccess }
        group.addTask {
          await other.send(Chore(number: 2), mode: mode, options: .exclusive("key")).isSuccess
        }
        group.addTask {
          for number in 3...5 { other.dispatch(action: Chore(number: number), mode: mode) }
          return true
        }
      }
    }()
    while alive.now.count + orphans.now.count < 5 { await Task.yield() }
    try check(orphans.now.isEmpty, "\(orphans.now) ran after their dispatcher")
  }
}

private struct Chore: ActionType {
  let number: Int
}
