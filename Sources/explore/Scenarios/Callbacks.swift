import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Operations that other threads update and finish while their blocks still run.
  static let callbacks = Scenario(
    name: "callbacks",
    summary: "an operation ends after its updates, and their delivery to observers"
  ) { dispatcher, simulation in
    let warnings = Shared([DispatchWarning.Kind]())
    dispatcher.onWarning { warning in warnings.append(warning.kind) }
    let updated = Shared([Int]())
    let store = dispatcher.makeJournal(
      "journal",
      late: { operation in
        let number = operation.operation.action.number
        simulation.startThread {
          operation.updateModel { $0.entries.append(number + 100) }
          operation.finish()
        }
        simulation.startThread {
          let isUpdated: Void? = operation.updateModel { $0.entries.append(number + 200) }
          if isUpdated != nil { updated.append(number + 200) }
        }
        operation.operation.store.updateModel { $0.entries.append(number + 300) }
      })
    let after = dispatcher.makePlainJournal("after", waitFor: ["journal"])
    let versions = Shared([UInt64]())
    let deliveredEntries = Shared([Int]())
    let token = store.observe(.model) { change in
      versions.append(change.version)
      if let last = change.value.entries.last { deliveredEntries.append(last) }
    }
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync, .mainThread]
    let faults = Shared([String]())
    await concurrently(modes.enumerated()) { place, mode in
      let number = place + 1
      let handle = dispatcher.dispatch(action: Entry.late(number), mode: mode) {
        let delivered = deliveredEntries.now
        let missing = store.model.entries.filter {
          $0 % 100 == number && !delivered.contains($0)
        }
        if !missing.isEmpty { faults.note("\(missing) not delivered for \(number)") }
        let all = [number, number + 100, number + 300]
        if !all.allSatisfy(delivered.contains) { faults.note("\(number) in \(delivered)") }
      }
      if number == 2 { simulation.startThread { handle.cancel() } }
      _ = await handle.result
    }
    let entries = store.model.entries
    let lost = entries.filter { $0 % 100 != 2 }
    try check(
      faults.now.allSatisfy { $0.hasSuffix("for 2") || $0.hasPrefix("2 in") }, "\(faults.now)")
    try check(versions.now == Array(1...UInt64(entries.count)), "delivered \(versions.now)")
    try check(after.model.entries.filter { $0 != 2 }.sorted() == [1, 3, 4], "\(lost)")
    try check(
      updated.now.sorted() == entries.filter { $0 / 100 == 2 }.sorted(), "\(entries)")
    try check(warnings.now.allSatisfy { $0 == .updateAfterEnd }, "\(warnings.now)")
    token.cancel()
  }
}
