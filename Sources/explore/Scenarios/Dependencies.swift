import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Operations that depend on others, which are started, cancelled or removed at some time.
  static let dependencies = Scenario(
    name: "dependencies", summary: "an operation runs once what it depends on has finished"
  ) { dispatcher, simulation in
    let needed = (0..<3).map { _ in BlockOperation {} }
    let made = Shared([Int: Operation]())
    let faults = Shared([String]())
    // The operation for action `n` depends on two of the needed ones.
    let store = dispatcher.makeStore("journal", of: Entry.self) { action, store in
      let number = action.number
      let mine = [needed[number % 3], needed[(number + 1) % 3]]
      let operation = ActionOperation(action: action, store: store) { operation, _, store in
        let unfinished = mine.filter {
          !$0.isFinished && operation.operation.dependencies.contains($0)
        }
        if !unfinished.isEmpty { faults.note("\(number) has not waited") }
        store.updateModel { $0.entries.append(number) }
        operation.finish()
      }
      for dependency in mine { operation.addDependency(dependency) }
      made[number] = operation
      return operation
    }
    let after = dispatcher.makePlainJournal("after", waitFor: ["journal"])
    simulation.startThread { needed[0].start() }
    simulation.startThread { needed[1].start() }
    simulation.startThread {
      needed[2].cancel()
      needed[2].start()
    }
    simulation.startThread {
      // Operation 5 no longer waits for one that it does not depend on any more.
      guard let operation = made[5] else { return }
      operation.removeDependency(needed[0])
    }
    let completions = Shared([Int: Int]())
    let modes: [Dispatcher.Mode] = [.serial, .serial, .async, .sync, .mainThread]
    let results = await concurrently(modes.enumerated()) { place, mode in
      let number = place + 1
      let handle = dispatcher.dispatch(action: Entry.work(number), mode: mode) {
        completions.with { $0[number, default: 0] += 1 }
      }
      if number == 2 || number == 3 { simulation.startThread { handle.cancel() } }
      return (number, await handle.result)
    }
    try check(faults.now.isEmpty, "\(faults.now)")
    let entries = store.model.entries
    for (number, result) in results {
      try check(completions[number] == 1, "completions \(completions.now)")
      let hasRun = entries.filter { $0 == number }.count
      try check(hasRun == (result["journal"].isFinished == true ? 1 : 0), "\(entries) \(result)")
      if number != 2, number != 3 { try check(result.isSuccess, "\(result)") }
      try check(
        after.model.entries.contains(number) == result["after"].isFinished, "\(result)")
    }
  }
}
